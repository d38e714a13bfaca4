"""Outputs in which no run of n tokens comes twice. Paulus et al. 2018, section 2.5."""

from typing import cast

import torch
from torch import Tensor

from weft.core.marks import PAD
from weft.core.state import Scores, State, Steer, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside, for_each


def block_repeats(step: Step, state: State, size: int, free: Tensor) -> tuple[Step, State]:
    """No `size` tokens in a row come again in an output. 0: they may.

    The first `free` [B] tokens of an output are left alone, as a prefix is that was given; and so are tokens that lead
    on to what is required, where the step tells of them (so this goes around `include`).
    """
    if not size:
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        free, before = cast(tuple[Tensor, Tensor], own)
        history = torch.cat([before, tokens[:, None]], dim=1)  # [N,t+1], BEGIN the first
        repeated = _repeated(history, size, scores.log_probs)
        repeated &= (for_each(free, len(tokens)) < history.shape[1])[:, None]
        if scores.steer is not None:
            repeated &= ~_leading_on(scores.steer, scores.log_probs)
        return scores._replace(log_probs=scores.log_probs.masked_fill(repeated, IMPOSSIBLE)), history

    return beside(step, state, State(free, free.new_zeros(len(free), 0)), advise)


def _repeated(history: Tensor, size: int, like: Tensor) -> Tensor:
    """Which tokens would end a run of `size` that has been: [N,t] -> [N,V]."""
    nothing = torch.zeros_like(like, dtype=torch.bool)
    if history.shape[1] < size:
        return nothing
    runs = history.unfold(1, size, 1)  # [N,t-size+1,size]
    last = history[:, history.shape[1] - size + 1 :]
    again = (runs[..., :-1] == last[:, None]).all(2)
    return _only(nothing, runs[..., -1].masked_fill(~again, PAD))


def _leading_on(steer: Steer, like: Tensor) -> Tensor:
    """Which tokens lead to a higher bank than others: [N,V]."""
    nothing = torch.zeros_like(like, dtype=torch.bool)
    return _only(nothing, steer.wanted.masked_fill(steer.banks <= steer.others[:, None], PAD))


def _only(nothing: Tensor, tokens: Tensor) -> Tensor:
    """True for these tokens [N,W] but PAD: [N,V]."""
    marked = nothing.scatter(1, tokens, True)
    marked[:, PAD] = False
    return marked
