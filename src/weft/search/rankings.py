"""Rankings: how outputs of different lengths are compared, by log P(Y|X) and |Y|, with END counted in |Y|."""

from typing import Annotated, Protocol

import torch
from annotated_types import Ge
from torch import Tensor

from weft.core.state import Hypothesis

Strength = Annotated[float, Ge(0.0)]


class Ranking(Protocol):
    """What finished outputs are compared by.

    It never falls as the length grows, where scores are not above 0, nor as the score does. So the rank of a score at
    the longest length there may be is the most that any output can reach which begins with this score: searches that
    prune or stop by a bound rely on that.
    """

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Scores, and lengths >= 1 as floating-point numbers, of one shape -> ranks of that shape, the best highest."""
        ...


class NoPenalty:
    """Scores as they are: short outputs are favoured."""

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002 (as all rankings)
        return scores


class Average:
    """log P / |Y|^alpha: with alpha 1 the mean log-probability of a token."""

    def __init__(self, *, alpha: Strength = 1.0):
        self.alpha = alpha

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores / lengths**self.alpha


class GNMT:
    """log P / ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14, without its coverage, which is an option of beam)."""

    def __init__(self, *, alpha: Strength = 0.6):
        self.alpha = alpha

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores / ((5 + lengths) / 6) ** self.alpha


class Reward:
    """log P + gamma |Y|: each token is worth as much as the next (He, He, Wu & Wang 2016, the word reward)."""

    def __init__(self, *, gamma: Strength = 0.5):
        self.gamma = gamma

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores + self.gamma * lengths


def rank_of(hypothesis: Hypothesis, ranking: Ranking) -> float:
    """What one output is compared by."""
    return float(ranking(*torch.tensor([hypothesis.score, len(hypothesis.token_scores)], dtype=torch.float64)))
