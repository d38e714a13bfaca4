"""Which classes are compared with the right one, where a vocabulary is too large to compare them all."""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.types import Share
from weft.objective.role import Counts

Probabilities: TypeAlias = NDArray[np.float64]


class Proposal(Protocol):
    """A distribution over the classes [V], made of how often each is used [V]. None has the probability 0."""

    def __call__(self, counts: Counts) -> Probabilities: ...


class Unigram:
    """q(v) ~ (count(v) + 1)^power. With 3/4 rare classes come more often than they are used. Mikolov et al. 2013."""

    def __init__(self, *, power: Share = 0.75):
        self.power = power

    def __call__(self, counts: Counts) -> Probabilities:
        return _normalised(np.asarray((counts + 1.0) ** self.power, np.float64))


class Uniform:
    """q(v) = 1 / V."""

    def __call__(self, counts: Counts) -> Probabilities:
        return _normalised(np.ones(len(counts)))


class LogUniform:
    """q(v) = log((r + 1) / r) / log(V + 1), r = 1 for the class that is used most: near 1 / r, the law of Zipf.

    Ranks are taken from the counts, since the ids of a tokenizer need not be in the order of their use.
    """

    def __call__(self, counts: Counts) -> Probabilities:
        ranks = np.empty(len(counts))
        ranks[np.argsort(-counts, kind="stable")] = np.arange(1, len(counts) + 1)
        return _normalised(np.log1p(1 / ranks))


def _normalised(weights: Probabilities) -> Probabilities:
    shares: Probabilities = weights / weights.sum()
    return shares


def inclusion(proposal: Probabilities, size: int) -> Probabilities:
    """pi(v) = min(1, c q(v)), with the c for which `size` = sum pi(v): how likely each class is in a set.

    Each class enters a set by a coin of its own (Poisson sampling), so that the size is right on average.
    """
    if size >= len(proposal):
        return np.ones(len(proposal))
    ordered = np.sort(proposal)[::-1]
    rest = ordered[::-1].cumsum()[::-1][:size]  # what each and all below it have together
    factors = (size - np.arange(size)) / rest  # c, if all above are certain
    certain = int(np.argmax(factors * ordered[:size] <= 1))  # how many are
    included: Probabilities = np.minimum(1.0, factors[certain] * proposal)
    return included
