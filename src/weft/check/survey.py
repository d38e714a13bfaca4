"""All that a pair tells by itself, a record a pair in a file: memory stays flat, however many there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.check.rows import Row
from weft.check.tokens import Tokens
from weft.control.spans import PATTERNS
from weft.data.columns import append, mapped
from weft.data.hashes import hash_lines, hash_pairs
from weft.data.kinds import MARKUP, NUMBERS
from weft.data.looking import look, look_at_line
from weft.data.pairs import Pair
from weft.data.scripts import script_of
from weft.data.tally import SideTally

CHUNK = 4096  # rows looked at in one go
RECORD = np.dtype(
    [
        ("found", np.uint32),  # the kinds of problems
        ("whole", np.bool_),  # is there a pair?
        ("lengths", np.uint32, 2),  # letters of each side
        ("scripts", np.uint8, 2),  # numbers among the names of scripts; 0: none
        ("pair", np.uint64),  # hashes of both sides, and of the line by which it is known again
        ("line", np.uint64),
    ]
)
NO_PAIR: Pair = ("\n", "\n")  # equal to none: no line has a line break in it
DIGITS = re.compile(r"\d+")


class Survey(NamedTuple):
    """The records [n] of a corpus, the names of its scripts by their numbers, and its tokens, if they were counted."""

    records: NDArray[Any]
    scripts: list[str]
    tokens: tuple[SideTally, SideTally] | None


class Surveyor:
    """Looks at rows. one_sided: the source says nothing (there is none, or it names pictures), so only targets count.

    tokens: what counts the tokens of pairs, if anything does. progress: hears how many rows are done, if it is given.
    """

    def __init__(self, *, one_sided: bool, tokens: Tokens | None, progress: Callable[[int], None] | None):
        self._one_sided = one_sided
        self._tokens = tokens
        self._progress = progress
        self._scripts = {"": 0}

    def survey(self, rows: Iterable[Row], path: Path) -> Survey:
        """Look at every row; the records are written into a new file at `path`."""
        done = 0
        for chunk in _chunks(rows):
            append(path, self._records(chunk))
            done += len(chunk)
            if self._progress is not None:
                self._progress(done)
        tokens = None if self._tokens is None else self._tokens.tallies()
        return Survey(mapped(path, RECORD, done) if done else np.zeros(0, RECORD), list(self._scripts), tokens)

    def _records(self, rows: Sequence[Row]) -> NDArray[Any]:
        pairs = [NO_PAIR if row.pair is None else row.pair for row in rows]
        whole = np.array([row.pair is not None for row in rows])
        records = np.zeros(len(rows), RECORD)
        records["whole"] = whole
        records["found"] = [row.found if row.pair is None else row.found | self._look(row.pair) for row in rows]
        records["lengths"] = [(len(source), len(target)) for source, target in pairs]
        records["scripts"] = [tuple(map(self._script, pair)) for pair in pairs]
        records["pair"] = hash_pairs(pairs)
        records["line"] = hash_lines(target if self._one_sided else source for source, target in pairs)
        if self._tokens is not None:
            records["found"] |= np.where(whole, self._tokens.look(pairs), 0).astype(np.uint32)
        return records

    def _look(self, pair: Pair) -> int:
        if self._one_sided:
            return look_at_line(pair[1]) | _hints(*pair) & MARKUP
        return look(*pair) | _hints(*pair)

    def _script(self, line: str) -> int:
        """Its number; those beyond what a byte holds are none."""
        return min(self._scripts.setdefault(script_of(line), len(self._scripts)), 256) % 256


def _hints(source: str, target: str) -> int:
    """What is no error by itself: other numbers on the other side, and markup."""
    found = NUMBERS if sorted(DIGITS.findall(source)) != sorted(DIGITS.findall(target)) else 0
    markup = PATTERNS["markup"]
    return found | MARKUP if markup.search(source) or markup.search(target) else found


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
