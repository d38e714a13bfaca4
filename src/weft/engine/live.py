"""Words as they are written: a search that tells, at every step, the best of the outputs that it has begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import torch
from torch import Tensor

from weft.core.state import Hypothesis, Scores, State, Step
from weft.core.tree import Tree
from weft.search.guides.beside import beside
from weft.search.role import Search

Tell: TypeAlias = Callable[[list[int]], None]


class Telling:
    """A search of one sentence. What it has begun is not what it ends with: a beam may go another way after all."""

    def __init__(self, search: Search, tell: Tell):
        self.search = search
        self.tell = tell

    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        return self.search(*told(step, state, limit, self.tell), limit, lines)

    def rank(self, hypothesis: Hypothesis) -> float:
        return self.search.rank(hypothesis)

    @property
    def can_require(self) -> bool:
        return self.search.can_require


def told(step: Step, state: State, limit: Tensor, tell: Tell) -> tuple[Step, State]:
    """The step with a guide that changes nothing: it keeps the tokens of each output, and tells those of the first."""

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        history = torch.cat([cast(Tensor, own.carry), tokens[:, None]], dim=1)  # [N,t+1], BEGIN the first
        tell(history[0, 1:].tolist())
        return scores, history

    return beside(step, state, State(limit, limit.new_zeros(len(limit), 0)), advise)
