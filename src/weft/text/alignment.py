"""Which words of two lines belong together, from the weights between their pieces.

Words are what white space divides, as programs that read alignments count them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from weft.text.tokenizer import Tokenizer
from weft.text.words import Numbers

WORD = re.compile(r"\S+", re.ASCII)
BYTES_WORD = re.compile(rb"\S+")


class Link(NamedTuple):
    """A word of the source and a word of the output, by the places of their first letters."""

    source: int
    target: int


def aligned(weights: Numbers, source: Sequence[int | None], target: Sequence[range]) -> list[tuple[int, int]]:
    """For each word of the output, the word of the source that its pieces look at most, as (source, target) numbers.

    weights [T,S] are between pieces; `source` says to which word each belongs (None: to none), `target` to which words.
    A word is looked at as much as its pieces together. One that looks at no word has no pair.
    """
    looks: dict[int, dict[int, float]] = {}
    for row, words in zip(weights, target, strict=True):
        for word in words:
            sums = looks.setdefault(word, {})
            for weight, seen in zip(row.tolist(), source, strict=True):
                if seen is not None:
                    sums[seen] = sums.get(seen, 0.0) + weight
    return [(max(sums, key=sums.__getitem__), word) for word, sums in sorted(looks.items()) if any(sums.values())]


def source_words(line: str, tokenizer: Tokenizer) -> list[int | None]:
    """The word of the line that each of its pieces belongs to; None for white space."""
    starts, ends = zip(*(word.span() for word in WORD.finditer(line)), strict=True) if line.strip() else ((), ())
    return [_word_at(first, end, starts, ends) for first, end in tokenizer.offsets(line)]


def _word_at(first: int, end: int, starts: Sequence[int], ends: Sequence[int]) -> int | None:
    """The word that the letters from `first` to before `end` touch; the last of them, since a space leads its word."""
    number = bisect_right(starts, end - 1) - 1
    return number if number >= 0 and ends[number] > first else None


def target_words(spelled: Sequence[bytes]) -> list[range]:
    """The words that each piece is part of, by how the pieces are spelled; a piece may be but part of a letter."""
    starts = [match.start() for match in BYTES_WORD.finditer(b"".join(spelled))]
    ends = np.cumsum([len(piece) for piece in spelled]).tolist()
    return [_words_in(piece, end, starts) for piece, end in zip(spelled, ends, strict=True)]


def _words_in(piece: bytes, end: int, starts: Sequence[int]) -> range:
    """The words, which begin at these places, of which a piece that ends here has something."""
    if not piece.strip():
        return range(0)
    first = end - len(piece.lstrip())
    return range(bisect_right(starts, first) - 1, bisect_right(starts, end - 1))


def linked(pairs: Iterable[tuple[int, int]], source: str, target: str) -> tuple[Link, ...]:
    """The numbers of words as places in the lines."""
    firsts, seconds = starts_of(source), starts_of(target)
    return tuple(Link(firsts[one], seconds[other]) for one, other in pairs)


def starts_of(line: str) -> list[int]:
    """Where the words of a line begin."""
    return [word.start() for word in WORD.finditer(line)]


def numbered(links: Iterable[Link], source: str, target: str) -> list[tuple[int, int]]:
    """The links as numbers of words, counted from 0, in the order of the source."""
    firsts, seconds = starts_of(source), starts_of(target)
    return sorted({(bisect_right(firsts, link.source) - 1, bisect_right(seconds, link.target) - 1) for link in links})


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """0-0 1-2 2-1, the format that Pharaoh (Koehn 2004) began."""
    return " ".join(f"{one}-{other}" for one, other in pairs)
