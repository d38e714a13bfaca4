"""Several step functions as one: what each says is mixed, and their states are one state.

`mixed(parts, mix)` is a step of states that `together` has put together. How log-probabilities are mixed is a `Mix`:

    weighted_sum             log p = sum_i w_i log p_i                 a language model beside (w = 1, 0.2), a lattice
    mean_probabilities       p = sum_i w_i p_i / sum_i w_i             an ensemble, each member a vote
    mean_log_probabilities   p ~ prod_i p_i^(w_i / sum_i w_i)          an ensemble, each member a veto
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor

from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE

Mix: TypeAlias = Callable[[Sequence[Tensor], Sequence[float]], Tensor]  # log-probabilities [N,V] each, and weights


class Part(NamedTuple):
    """A step function among others: how much it counts, and whether it looks at the very positions of the first."""

    step: Step
    weight: float
    same_positions: bool = False


def weighted_sum(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """sum_i w_i log p_i. What has no weight says nothing, not even that a token cannot be."""
    terms = [weight * one for weight, one in zip(weights, log_probs, strict=True) if weight]
    return functools.reduce(torch.add, terms)


def mean_probabilities(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """log of the arithmetic mean of the probabilities."""
    total = math.log(sum(weights))
    terms = [one + (math.log(weight) - total) for weight, one in zip(weights, log_probs, strict=True)]
    return functools.reduce(torch.logaddexp, terms)


def mean_log_probabilities(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """log of the geometric mean of the probabilities, which are then made to sum to 1 again.

    A row in which no token can be, as on hypotheses that a search has given up, stays one.
    """
    means = weighted_sum(log_probs, weights) / sum(weights)
    total = means.logsumexp(-1, keepdim=True)
    return torch.where(total > IMPOSSIBLE, means - total, IMPOSSIBLE)


def mixed(parts: Sequence[Part], mix: Mix) -> Step:
    """The step of states that `together` has put together, in the order of the parts."""
    weights = [part.weight for part in parts]

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        taken = [part.step(tokens, own) for part, own in zip(parts, apart(state), strict=True)]
        said = [scores for scores, _ in taken]
        log_probs = mix([scores.log_probs for scores in said], weights)
        return Scores(log_probs, _looked(parts, said), said[0].steer), together(*(after for _, after in taken))

    return step


def together(*states: State) -> State:
    """One state for all: its rows are chosen and reordered together."""
    return State(tuple(state.memory for state in states), tuple(state.carry for state in states))


def apart(state: State) -> list[State]:
    """The states that `together` has put together."""
    memories, carries = cast(tuple[Tree, ...], state.memory), cast(tuple[Tree, ...], state.carry)
    return [State(memory, carry) for memory, carry in zip(memories, carries, strict=True)]


def _looked(parts: Sequence[Part], said: Sequence[Scores]) -> Tensor | None:
    """Where the first looked [N,S]; with others that look at the same positions, the weighted mean."""
    first = said[0].attention
    if first is None:
        return None
    others = [
        (part.weight, scores.attention)
        for part, scores in zip(parts[1:], said[1:], strict=True)
        if part.same_positions and scores.attention is not None and scores.attention.shape == first.shape
    ]
    looks = [(parts[0].weight, first), *others]
    total = sum(weight for weight, _ in looks)
    return functools.reduce(torch.add, [weight / total * look for weight, look in looks]) if others else first
