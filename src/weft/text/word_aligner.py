"""Word alignment of sentence pairs without a translation model: IBM model 1 (ibm1.py) in both directions.

A link is kept if each of its words is the best match of the other (the intersection of both directions, Och and Ney
2003): few links, but reliable ones. Two ideas make a small sample enough: words are reduced to their first letters
(Fraser and Marcu 2005), and of equally likely words, one at about the same relative position is preferred (fast_align,
Dyer et al. 2013):

    score(i, j) = t(f_j | e_i) exp(-lambda |i / l - j / m|)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from weft.core.codec import RaggedRows
from weft.core.errors import UserError
from weft.core.files import read_bounded, write_atomically
from weft.text.ibm1 import NULL, split_by_links, train_ibm1

ITERATIONS = 3
PREFIX_LETTERS = 5
MIN_COUNT = 2  # rarer words share the id RARE
RARE = NULL + 1
DIAGONAL_STRENGTH = 4.0  # lambda
MIN_PROBABILITY = 1e-4  # smaller ones are not stored
LINKS_PER_PORTION = 2**18  # in memory at once
MAX_FREQUENT, FREQUENT_SHARE = 80, 0.05  # how many keys count as frequent: the smaller of count and share
MAX_WORDS = 200  # of a line that is aligned; the effort grows with the square

NON_SPACE = re.compile(r"\S+")
CJK_LETTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # each is a word
CJK_WORD = re.compile(f"[{CJK_LETTERS}]")

WordIds: TypeAlias = Mapping[str, int]
WordLinks: TypeAlias = frozenset[tuple[int, int]]  # indices of source word and target word
WordPairs: TypeAlias = Sequence[tuple[Sequence[str], Sequence[str]]]  # the keys of both sides of each pair


class Word(NamedTuple):
    """A word of a line, or the punctuation before or after one, from character `first` to before `end`."""

    first: int
    end: int
    is_punctuation: bool = False


def split_words(line: str) -> list[Word]:
    """Split at spaces, split off punctuation around a word, and split Chinese and Japanese into characters."""
    return [word for match in NON_SPACE.finditer(line) for word in _split_chunk(line, *match.span())]


def _split_chunk(line: str, first: int, end: int) -> list[Word]:
    start, stop = first, end
    while start < stop and _is_punctuation(line[start]):
        start += 1
    while stop > start and _is_punctuation(line[stop - 1]):
        stop -= 1
    edges = Word(first, start, is_punctuation=True), Word(stop, end, is_punctuation=True)
    cuts = {place for match in CJK_WORD.finditer(line, start, stop) for place in match.span()}
    bounds = sorted({start, *cuts, stop})
    inner = [Word(a, b) for a, b in pairwise(bounds)]
    return [word for word in (edges[0], *inner, edges[1]) if word.first < word.end]


def _is_punctuation(char: str) -> bool:
    return category(char)[0] in "PS"


def word_keys(line: str, words: Iterable[Word]) -> list[str]:
    """Return what stands for each word in the statistics: its first letters in lower case."""
    return [line[word.first : word.end].casefold()[:PREFIX_LETTERS] for word in words]


class ProbabilityTable(NamedTuple):
    """t(f | e): the sorted numbers of word pairs, e * (number of words f) + f, and their probabilities."""

    pairs: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    @classmethod
    def train(cls, given: RaggedRows, predicted: RaggedRows, size: int) -> ProbabilityTable:
        table = train_ibm1(list(split_by_links((given, predicted), LINKS_PER_PORTION)), size, ITERATIONS)
        is_kept = table.probabilities >= MIN_PROBABILITY
        return cls((table.sources * size + table.targets)[is_kept], table.probabilities[is_kept])

    def lookup(self, given: NDArray[np.int64], predicted: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """Return t(f | e) for all words f and e of a sentence pair [len(given),len(predicted)]."""
        pairs = given[:, None] * size + predicted
        places = np.searchsorted(self.pairs, pairs).clip(max=len(self.pairs) - 1)
        return np.where(self.pairs[places] == pairs, self.probabilities[places], 0.0)


class WordAligner:
    """Aligns the words of sentence pairs."""

    def __init__(self, words: tuple[Sequence[str], Sequence[str]], tables: tuple[ProbabilityTable, ProbabilityTable]):
        """words: the keys of each side in the order of their ids. tables: t(target | source), t(source | target)."""
        self._words, self._tables = words, tables
        self._ids = tuple(_number_words(side) for side in words)
        self._sizes = tuple(len(side) + RARE + 1 for side in words)

    @classmethod
    def train(cls, pairs: WordPairs) -> WordAligner:
        """Train on the keys of the words of sentence pairs; pairs with an empty or very long side are left out."""
        usable = [pair for pair in pairs if all(0 < len(side) <= MAX_WORDS for side in pair)]
        sides = [side for side, _ in usable], [side for _, side in usable]
        words = _frequent_words(sides[0]), _frequent_words(sides[1])
        source, target = (_encode(rows, _number_words(known)) for rows, known in zip(sides, words, strict=True))
        sizes = [len(known) + RARE + 1 for known in words]
        forward = ProbabilityTable.train(source, target, sizes[1])
        return cls(words, (forward, ProbabilityTable.train(target, source, sizes[0])))

    def align(self, source: Sequence[str], target: Sequence[str]) -> WordLinks:
        """Return the links between the words of a pair; none if a side is empty or very long."""
        if not all(0 < len(side) <= MAX_WORDS for side in (source, target)):
            return frozenset()
        ids = [
            np.array([NULL, *(known.get(key, RARE) for key in keys)])
            for keys, known in zip((source, target), self._ids, strict=True)
        ]
        positions = [(np.arange(len(keys)) + 0.5) / len(keys) for keys in (source, target)]
        diagonal = np.exp(-DIAGONAL_STRENGTH * np.abs(positions[0][:, None] - positions[1]))
        forward = self._tables[0].lookup(ids[0], ids[1][1:], self._sizes[1])
        backward = self._tables[1].lookup(ids[1], ids[0][1:], self._sizes[0])
        source_of, target_of = _best_matches(forward, diagonal), _best_matches(backward, diagonal.T)
        return frozenset((i, j) for j, i in enumerate(source_of) if i >= 0 and target_of[i] == j)

    def is_frequent(self, key: str, side: int) -> bool:
        """Whether a key is one of the most frequent of a side, which are articles, pronouns and the like."""
        limit = min(MAX_FREQUENT, round(FREQUENT_SHARE * len(self._words[side])))
        return RARE < self._ids[side].get(key, RARE) <= RARE + limit

    def save(self, path: Path) -> None:
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, words, table in zip(("source", "target"), self._words, self._tables, strict=True):
            arrays[f"{name}.words"] = np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), np.uint8)
            arrays[f"{name}.pairs"], arrays[f"{name}.probabilities"] = table
        content = BytesIO()
        np.savez(content, allow_pickle=False, **arrays)
        write_atomically(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> WordAligner:
        """Load a file that `save` wrote; raise UserError if it is damaged."""
        try:
            with np.load(BytesIO(read_bounded(path)), allow_pickle=False) as arrays:
                words = tuple(
                    arrays[f"{name}.words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
                    for name in ("source", "target")
                )
                tables = tuple(
                    ProbabilityTable(arrays[f"{name}.pairs"], arrays[f"{name}.probabilities"])
                    for name in ("source", "target")
                )
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UserError(
                f"{path}: this cached alignment is damaged ({error}). Delete it and start again."
            ) from error
        return cls((words[0], words[1]), (tables[0], tables[1]))


def _frequent_words(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the keys by frequency, then by spelling."""
    counts = Counter(chain.from_iterable(rows))
    return sorted((key for key in counts if counts[key] >= MIN_COUNT), key=lambda key: (-counts[key], key))


def _number_words(words: Iterable[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(words, RARE + 1)}


def _encode(rows: Sequence[Sequence[str]], known: WordIds) -> RaggedRows:
    ids = np.array([known.get(key, RARE) for row in rows for key in row], np.int64)
    return RaggedRows(ids, np.array([len(row) for row in rows], np.int64))


def _best_matches(probabilities: NDArray[np.float64], diagonal: NDArray[np.float64]) -> list[int]:
    """Return for each predicted word the best given word, or -1 if NULL (row 0) is more likely."""
    scores = probabilities[1:] * diagonal
    best = scores.argmax(axis=0)
    columns = np.arange(scores.shape[1])
    is_linked = (scores[best, columns] > 0) & (probabilities[1:][best, columns] > probabilities[0])
    matches: list[int] = np.where(is_linked, best, -1).tolist()
    return matches
