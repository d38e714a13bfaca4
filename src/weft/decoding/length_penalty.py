"""Length and coverage penalties: how finished hypotheses of different lengths are compared. |Y| counts EOS."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.setting_types import NonNegativeFloat
from weft.core.state import Hypothesis

MIN_COVERAGE = 1e-6  # a source position outside every attention window would cost an infinite amount


class LengthPenalty(Protocol):
    """Turns scores into ranking scores.

    These grow with the score and, for scores <= 0, never fall with the length. So the ranking score of a prefix at the
    maximum length bounds that of every output with this prefix: pruning and the stop rule "limit" rely on it.
    """

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Scores and lengths >= 1 (floating point) of one shape -> ranking scores of that shape, best highest."""
        ...


class NoLengthPenalty:
    """log P: favors short outputs."""

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        return scores


@dataclass(frozen=True, kw_only=True)
class AverageLengthPenalty:
    """log P / |Y|^alpha: with alpha = 1 the mean log-probability of a token."""

    alpha: NonNegativeFloat = 1.0

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores / lengths**self.alpha


@dataclass(frozen=True, kw_only=True)
class GNMTLengthPenalty:
    """log P / ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14; its coverage penalty is a setting of beam search)."""

    alpha: NonNegativeFloat = 0.6

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores / ((5 + lengths) / 6) ** self.alpha


@dataclass(frozen=True, kw_only=True)
class WordReward:
    """log P + gamma |Y| (He, He, Wu & Wang 2016, the word reward)."""

    gamma: NonNegativeFloat = 0.5

    def __call__(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores + self.gamma * lengths


def penalized_score(penalty: LengthPenalty, score: float, length: int) -> float:
    """Return the ranking score of one output, in float64."""
    return float(penalty(*torch.tensor([score, length], dtype=torch.float64)))


def accumulate_attention(sums: Tensor | None, attention: Tensor | None) -> Tensor:
    """Add the attention of a step [N,S] to the sums of the previous steps; None before the first step."""
    if attention is None:
        raise UserError("coverage_penalty needs a model with attention, which this model does not have: set it to 0")
    return attention if sums is None else sums + attention


def coverage_scores(sums: Tensor, rows: Tensor) -> Tensor:
    """Return sum_i log(min(sum_j p_ij, 1)) (Wu et al. 2016, equation 14, without beta); never above 0.

    p_ij is the attention weight of source position i at output token j. sums [N,S]: over all tokens so far, N = U K.
    rows [U,C]: the row of `sums` that each hypothesis extends -> scores [U,C]. Positions without any weight in all K
    rows of a beam are not counted: they are padding.
    """
    counted = (sums > 0).view(len(rows), -1, sums.shape[1]).any(1)  # [U,S]
    scores = sums.clamp(MIN_COVERAGE, 1).log()[rows]  # [U,C,S]
    return torch.where(counted[:, None], scores, 0).sum(2)


def hypothesis_coverage(hypothesis: Hypothesis) -> float:
    """Return the coverage score of one finished hypothesis; positions that it never attended to are not counted."""
    sums = torch.tensor(hypothesis.attention, dtype=torch.float64).sum(0, keepdim=True)  # [1,S]
    return float(coverage_scores(sums, torch.zeros(1, 1, dtype=torch.long)))
