"""Outputs of at least so many tokens."""

from typing import cast

import torch
from torch import Tensor

from weft.core.marks import END
from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside, for_each


def least_lengths(source: Tensor, factor: float, extra: int, limit: Tensor) -> Tensor:
    """`factor` x source tokens + `extra`, but no more than the limit: [B]."""
    return torch.minimum((source * factor).long() + extra, limit)


def hold_end(step: Step, state: State, least: Tensor) -> tuple[Step, State]:
    """No END before an output has `least` [B] tokens."""
    if not (least > 0).any():
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        least, said = cast(tuple[Tensor, Tensor], own)
        short = said < for_each(least, len(tokens))
        scores.log_probs[:, END].masked_fill_(short, IMPOSSIBLE)
        return scores, said + 1

    return beside(step, state, State(least, torch.zeros_like(least)), advise)
