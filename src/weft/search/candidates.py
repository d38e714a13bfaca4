"""The extensions of the hypotheses of a beam that may go on."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from weft.core.marks import END
from weft.core.state import Steer
from weft.search.live import first_of_each
from weft.search.top import top


class Candidates(NamedTuple):
    """2K extensions of each of U beams of K hypotheses, the first to be kept first."""

    tokens: Tensor  # [U,2K]
    scores: Tensor  # [U,2K], of the whole hypothesis
    rows: Tensor  # [U,2K], of the U K rows those that they extend


class Choose(Protocol):
    """Which extensions are candidates, and in which order."""

    def __call__(self, scores: Tensor, log_probs: Tensor, steer: Steer | None) -> Candidates:
        """The hypotheses' scores [U,K], what may follow each [U*K,V], and what must still come."""
        ...


def likeliest(scores: Tensor, log_probs: Tensor) -> Candidates:
    """The 2K best of the K V extensions of each beam. (At most K of them are END.)"""
    beams, size = scores.shape
    token_scores, tokens = top(log_probs, 2 * size)  # [U*K,2K]: no row can have more among the best
    width = tokens.shape[1]
    totals = scores.flatten()[:, None] + token_scores
    totals, places = top(totals.view(beams, -1), 2 * size)
    places = places + first_of_each(totals, size * width)
    return Candidates(tokens.flatten()[places], totals, places // width)


def keeping_first(candidates: Candidates, scores: Tensor, log_probs: Tensor) -> Candidates:
    """The same, but the likeliest extension of the first hypothesis of each beam [U,K] comes first of all."""
    rows = first_of_each(scores, scores.shape[1])  # [U,1]
    token_scores, tokens = log_probs[rows[:, 0]].max(1, keepdim=True)
    again = (candidates.tokens == tokens) & (candidates.rows == rows)
    others = again.byte().argsort(dim=1, stable=True)[:, :-1]  # without it, or without the last
    first = tokens, scores[:, :1] + token_scores, rows
    both = zip(first, candidates, strict=True)
    return Candidates(*(torch.cat([one, rest.gather(1, others)], dim=1) for one, rest in both))


def going_on(tokens: Tensor) -> Tensor:
    """[U,K]: the places of the first K candidates [U,2K] that do not end, in their order."""
    ended = (tokens == END).byte()
    return ended.argsort(dim=1, stable=True)[:, : tokens.shape[1] // 2]
