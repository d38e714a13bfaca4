"""IBM Model 1 (Brown et al. 1993, section 4.1): token translation probabilities t(f | e), trained by expectation
maximization.

Every target token f comes from one source token e or from NULL (here PAD), independent of positions:

    p(f_1 ... f_m | e) is proportional to  prod_j sum_i t(f_j | e_i),  i = 0 ... l, e_0 = NULL

Since the sum over all alignments is a product of sums, the expected count of a link depends on its own target token
only:

    c(f, e) = sum over pairs, j, i with f_j = f, e_i = e of  t(f | e) / sum_k t(f_j | e_k);   t(f | e) = c(f, e) / c(e)
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.codec import RaggedRows
from weft.core.special_tokens import PAD

NULL = PAD
RaggedPairs = tuple[RaggedRows, RaggedRows]  # sources and targets


class TranslationTable(NamedTuple):
    """t(target | source) of all tokens that occur in the same pair, sorted by source, then target [P]."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class AlignmentLinks(NamedTuple):
    """All links of each target position to its source positions, NULL first [L].

    firsts: index of the first link of each target position. counts: number of its links.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def keys(self, vocab_size: int) -> NDArray[np.int64]:
        """Return a number that identifies the (source, target) tokens of each link."""
        return self.sources * vocab_size + self.targets


def train_ibm1(portions: Sequence[RaggedPairs], vocab_size: int, iterations: int) -> TranslationTable:
    """Train on pairs in portions, which bound memory. vocab_size: of the target."""
    keys = _distinct_keys(portions, vocab_size)
    sources = keys // vocab_size
    probabilities = 1 / np.bincount(sources)[sources]
    for _ in range(iterations):
        expected = np.zeros(len(keys))
        for links in map(make_links, portions):
            entries = np.searchsorted(keys, links.keys(vocab_size))
            likelihoods = probabilities[entries]
            totals = np.add.reduceat(likelihoods, links.firsts)
            expected += np.bincount(entries, likelihoods / np.repeat(totals, links.counts), len(keys))
        probabilities = expected / np.bincount(sources, expected)[sources]
    return TranslationTable(sources, keys % vocab_size, probabilities)


def split_by_links(pairs: RaggedPairs, max_links: int) -> Iterator[RaggedPairs]:
    """Split pairs into portions of about `max_links` links; the last pair of a portion may exceed the limit."""
    source, target = pairs
    links = (source.lengths + 1) * target.lengths
    portion = (np.cumsum(links) - links) // max_links
    for number in np.unique(portion):
        yield source.select(portion == number), target.select(portion == number)


def make_links(pairs: RaggedPairs) -> AlignmentLinks:
    source, target = pairs
    lengths = source.lengths + 1
    ids = np.insert(source.values.astype(np.int64), np.cumsum(source.lengths) - source.lengths, NULL)
    pair = np.repeat(np.arange(len(lengths)), target.lengths)  # of each target position
    counts = lengths[pair]
    firsts = np.cumsum(counts) - counts
    starts = np.cumsum(lengths) - lengths  # of each source
    positions = np.arange(counts.sum()) + np.repeat(starts[pair] - firsts, counts)
    return AlignmentLinks(ids[positions], np.repeat(target.values.astype(np.int64), counts), firsts, counts)


def _distinct_keys(portions: Sequence[RaggedPairs], vocab_size: int) -> NDArray[np.int64]:
    """Return the sorted distinct keys of all links; memory stays proportional to the result."""
    known = np.zeros(0, np.int64)
    new: list[NDArray[np.int64]] = []
    for links in map(make_links, portions):
        new.append(_sorted_unique(links.keys(vocab_size)))
        if sum(map(len, new)) > len(known):
            known, new = _sorted_unique(np.concatenate([known, *new])), []
    return _sorted_unique(np.concatenate([known, *new]))


def _sorted_unique(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Same as np.unique, but faster for concatenated sorted arrays."""
    keys = np.sort(keys, kind="stable")
    return np.delete(keys, 1 + np.flatnonzero(keys[1:] == keys[:-1]))
