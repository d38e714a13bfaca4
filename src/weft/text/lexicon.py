"""Which pieces translate which: IBM's model 1. Brown et al. 1993, section 4.1.

Every piece f of a target comes from one piece e of its source, or from none (NULL, here PAD), wherever they stand:

    p(f_1 ... f_m | e) is proportional to  prod_j sum_i t(f_j | e_i),  i = 0 ... l, e_0 = NULL

t is learned by expectation maximisation, from equal values. Since the sum over all alignments is a product of sums,
what is expected of a link needs no more than its own target piece:

    c(f, e) = sum over pairs, j, i with f_j = f, e_i = e of  t(f | e) / sum_k t(f_j | e_k);   t(f | e) = c(f, e) / c(e)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.marks import PAD
from weft.text.rows import Rows

NULL = PAD
Pairs = tuple[Rows, Rows]  # sources and targets, row by row


class Lexicon(NamedTuple):
    """t(target | source) of all that stand together in a pair, ordered by the source and then the target [P]."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class Links(NamedTuple):
    """Each target position with each of its source's, NULL first [L]."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    firsts: NDArray[np.int64]  # where those of each target position begin
    counts: NDArray[np.int64]  # how many it has

    def keys(self, size: int) -> NDArray[np.int64]:
        """A number for each link of two kinds of pieces. size: of the target vocabulary."""
        return self.sources * size + self.targets


def learn_lexicon(pairs: Sequence[Pairs], size: int, iterations: int) -> Lexicon:
    """From pairs in some portions, which bound the memory of a pass. size: of the target vocabulary."""
    keys = kinds(pairs, size)
    sources = keys // size
    probabilities = normalised(np.ones(len(keys)), sources)
    for _ in range(iterations):
        expected = np.zeros(len(keys))
        for places, links in located(pairs, keys, size):
            expected += np.bincount(places, shares(probabilities[places], links), len(keys))
        probabilities = normalised(expected, sources)
    return Lexicon(sources, keys % size, probabilities)


def cut(pairs: Pairs, most: int) -> Iterator[Pairs]:
    """The pairs in portions of so many links, and what is left of a portion's last pair."""
    source, target = pairs
    links = (source.lengths + 1) * target.lengths
    portion = (np.cumsum(links) - links) // most
    for number in np.unique(portion):
        yield source.select(portion == number), target.select(portion == number)


def kinds(pairs: Sequence[Pairs], size: int) -> NDArray[np.int64]:
    """The keys of all links, each once, in their order; never many more of them are held than these."""
    known = np.zeros(0, np.int64)
    new: list[NDArray[np.int64]] = []
    for links in map(links_of, pairs):
        new.append(distinct(links.keys(size)))
        if sum(map(len, new)) > len(known):
            known, new = distinct(np.concatenate([known, *new])), []
    return distinct(np.concatenate([known, *new]))


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each once, in their order, as np.unique, which takes longer where parts are sorted already."""
    keys = np.sort(keys, kind="stable")
    return np.delete(keys, 1 + np.flatnonzero(keys[1:] == keys[:-1]))


def located(pairs: Sequence[Pairs], keys: NDArray[np.int64], size: int) -> Iterator[tuple[NDArray[np.int64], Links]]:
    """The links of each portion, and where each of them stands in the table."""
    for links in map(links_of, pairs):
        yield np.searchsorted(keys, links.keys(size)), links


def links_of(pairs: Pairs) -> Links:
    source, target = pairs
    lengths = source.lengths + 1
    ids = np.insert(source.ids.astype(np.int64), np.cumsum(source.lengths) - source.lengths, NULL)
    pair = np.repeat(np.arange(len(lengths)), target.lengths)  # of each target position
    counts = lengths[pair]
    firsts = np.cumsum(counts) - counts
    row = np.cumsum(lengths) - lengths  # where each source begins
    places = np.arange(counts.sum()) + np.repeat(row[pair] - firsts, counts)
    return Links(ids[places], np.repeat(target.ids.astype(np.int64), counts), firsts, counts)


def shares(probabilities: NDArray[np.float64], links: Links) -> NDArray[np.float64]:
    """t(f_j | e_i) / sum_k t(f_j | e_k) of each link."""
    sums: NDArray[np.float64] = np.add.reduceat(probabilities, links.firsts)
    return probabilities / np.repeat(sums, links.counts)


def normalised(counts: NDArray[np.float64], sources: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each divided by the sum over its source."""
    return counts / np.bincount(sources, counts)[sources]
