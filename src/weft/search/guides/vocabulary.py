"""Outputs made of the tokens of a list."""

from collections.abc import Collection, Sequence
from typing import cast

import torch
from torch import Tensor

from weft.core.marks import END
from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside, for_each


def allow_only(step: Step, state: State, allowed: Tensor) -> tuple[Step, State]:
    """Each output has no tokens but those that are True in its row [B,V]."""
    if allowed.all():
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        forbidden = for_each(cast(Tensor, own.memory), len(tokens))
        return scores._replace(log_probs=scores.log_probs.masked_fill(forbidden, IMPOSSIBLE)), own.carry

    return beside(step, state, State(~allowed, ()), advise)


def vocabularies(lists: Sequence[Collection[int] | None], size: int) -> Tensor:
    """[B,V], True for the tokens of each list and END; None: for all of the `size` tokens."""
    allowed = torch.zeros(len(lists), size, dtype=torch.bool)
    for row, tokens in zip(allowed, lists, strict=True):
        row[slice(None) if tokens is None else [END, *tokens]] = True
    return allowed
