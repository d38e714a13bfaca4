"""Greedy search: always the most probable token."""

import torch
from torch import Tensor

from weft.core.state import Hypothesis, State, Step
from weft.search.single import search_single


class Greedy:
    """One hypothesis per sentence. Of equal tokens the lowest id."""

    can_require = False

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        return search_single(step, state, limit, _most_probable)

    def rank(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score


def _most_probable(log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:  # noqa: ARG001 (as all picks)
    return log_probs.max(1).indices
