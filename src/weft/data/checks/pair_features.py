"""Per-pair features in one pass over the data: lengths, scripts, hashes, token counts and the problems visible in
a single pair. Features are stored in a memory-mapped file, so memory use is constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.codec import Codec
from weft.data.checks.corpus_rows import CorpusRow
from weft.data.checks.pair_problems import find_line_problems, find_pair_problems
from weft.data.checks.problem_kinds import Problem
from weft.data.data_config import DROP_REASONS, PairFilters
from weft.data.hashes import hash_lines, hash_pairs
from weft.data.pair_files import LinePair
from weft.data.token_cache import SideStatistics, append_array, map_array
from weft.data.unicode_scripts import line_script
from weft.text.span_patterns import SPAN_PATTERNS
from weft.text.tokenizer import is_tokenizer

CHUNK_ROWS = 4096
DIGITS = re.compile(r"\d+")
MISSING_PAIR: LinePair = ("\n", "\n")  # equal to no other pair, since lines contain no line break
FILTER_PROBLEMS = {"too long": Problem.TOO_MANY_TOKENS, "bad ratio": Problem.UNEVEN_TOKENS}  # others: checked elsewhere
MAX_SCRIPTS = 256
FEATURE_DTYPE = np.dtype(
    [
        ("problems", np.uint32),  # bits
        ("has_pair", np.bool_),
        ("lengths", np.uint32, 2),  # characters of each side
        ("scripts", np.uint8, 2),  # indices of script names; 0: none
        ("pair", np.uint64),  # hash of both sides
        ("line", np.uint64),  # hash of the source, or of the target if only that is text
    ]
)


class TokenCounter:
    """Counts tokens, and finds pairs with unknown tokens and those that the filters of training would drop."""

    def __init__(self, codecs: tuple[Codec, Codec], filters: PairFilters, *, target_only: bool):
        self._codecs = codecs
        self._filters = filters
        self._sides = (1,) if target_only else (0, 1)
        self._counts = [np.zeros(codec.size, np.int64) for codec in codecs]  # of each token

    def find_problems(self, pairs: Sequence[LinePair]) -> NDArray[np.uint32]:
        """Return the bits of the problems of each pair [n]."""
        problems, lengths = np.zeros(len(pairs), np.uint32), []
        for side in self._sides:
            codec = self._codecs[side]
            rows = codec.encode_rows([pair[side] for pair in pairs])
            self._counts[side] += np.bincount(rows.values, minlength=codec.size)
            if is_tokenizer(codec) and codec.unknown_id is not None:
                pair_indices = np.repeat(np.arange(len(pairs)), rows.lengths)
                problems[pair_indices[rows.values == codec.unknown_id]] |= np.uint32(Problem.UNKNOWN_TOKENS)
            lengths.append(rows.lengths)
        none = np.zeros(len(pairs), np.bool_)
        verdicts = self._filters.verdicts(np.stack([lengths[0], lengths[-1]], axis=1), none, none)
        for reason, bit in FILTER_PROBLEMS.items():
            problems[verdicts == 1 + DROP_REASONS.index(reason)] |= np.uint32(bit)
        return problems

    def statistics(self) -> tuple[SideStatistics, SideStatistics]:
        source, target = (
            SideStatistics.from_counts(codec, int(counts.sum()), counts)
            for codec, counts in zip(self._codecs, self._counts, strict=True)
        )
        return source, target


class PairFeatures(NamedTuple):
    """records: features of all rows [n]. scripts: names by index. tokens: of both sides, if counted."""

    records: NDArray[Any]
    scripts: list[str]
    tokens: tuple[SideStatistics, SideStatistics] | None


def extract_features(
    rows: Iterable[CorpusRow],
    path: Path,
    *,
    target_only: bool,
    counter: TokenCounter | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> PairFeatures:
    """Write the features of all rows into a new file at `path`.

    target_only: the source is empty or an image. progress: receives the number of finished rows.
    """
    count, remaining, indices = 0, iter(rows), {"": 0}  # indices: of script names
    while chunk := list(islice(remaining, CHUNK_ROWS)):
        pairs = [MISSING_PAIR if row.pair is None else row.pair for row in chunk]
        has_pair = np.array([row.pair is not None for row in chunk])
        scripts = [[indices.setdefault(line_script(line), len(indices)) for line in pair] for pair in pairs]
        records = np.zeros(len(chunk), FEATURE_DTYPE)
        records["has_pair"] = has_pair
        records["problems"] = [
            row.problems if row.pair is None else row.problems | _pair_problems(row.pair, target_only) for row in chunk
        ]
        records["lengths"] = [(len(source), len(target)) for source, target in pairs]
        records["scripts"] = np.where(np.array(scripts) < MAX_SCRIPTS, scripts, 0)
        records["pair"] = hash_pairs(pairs)
        records["line"] = hash_lines(target if target_only else source for source, target in pairs)
        if counter is not None:
            records["problems"] |= np.where(has_pair, counter.find_problems(pairs), 0).astype(np.uint32)
        append_array(path, records)
        count += len(chunk)
        progress(count)
    written = map_array(path, FEATURE_DTYPE, count) if count else np.zeros(0, FEATURE_DTYPE)
    return PairFeatures(written, list(indices), None if counter is None else counter.statistics())


def _pair_problems(pair: LinePair, target_only: bool) -> int:
    source, target = pair
    markup = Problem.MARKUP if any(map(SPAN_PATTERNS["markup"].search, pair)) else 0
    if target_only:
        return find_line_problems(target) | markup
    same_numbers = sorted(DIGITS.findall(source)) == sorted(DIGITS.findall(target))
    return find_pair_problems(source, target) | markup | (0 if same_numbers else Problem.NUMBER_MISMATCH)
