"""Combine several step functions into one: ensembles, shallow fusion with a language model, joint CTC/attention."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor

from weft.core.state import State, StepFunction, StepOutput, TensorTree
from weft.decoding.search import NEG_INF

# log-probabilities [N,V] of each step function, and their weights -> log-probabilities [N,V]
CombineLogProbs: TypeAlias = Callable[[Sequence[Tensor], Sequence[float]], Tensor]


class WeightedStep(NamedTuple):
    """A step function, its weight, and whether its attention covers the same source positions as the first one's."""

    step: StepFunction
    weight: float
    same_positions: bool = False


def weighted_sum(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """sum_i w_i log p_i. Without a weight a step function cannot even exclude a token."""
    terms = [weight * term for weight, term in zip(weights, log_probs, strict=True) if weight]
    return functools.reduce(torch.add, terms)


def mean_probabilities(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The logarithm of the weighted arithmetic mean of the probabilities."""
    total = math.log(sum(weights))
    terms = [term + (math.log(weight) - total) for weight, term in zip(weights, log_probs, strict=True)]
    return functools.reduce(torch.logaddexp, terms)


def mean_log_probabilities(log_probs: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The logarithm of the weighted geometric mean of the probabilities, renormalized.

    Rows without a possible token, as of hypotheses that a search has dropped, remain at -inf.
    """
    means = weighted_sum(log_probs, weights) / sum(weights)
    total = means.logsumexp(-1, keepdim=True)
    return torch.where(total > NEG_INF, means - total, NEG_INF)


def combine_steps(parts: Sequence[WeightedStep], combine: CombineLogProbs) -> StepFunction:
    """Return a step function for states made by `join_states` in the order of the parts."""
    weights = [part.weight for part in parts]

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        results = [part.step(tokens, own) for part, own in zip(parts, split_states(state), strict=True)]
        outputs = [output for output, _ in results]
        log_probs = combine([output.log_probs for output in outputs], weights)
        output = StepOutput(log_probs, _combine_attention(parts, outputs), outputs[0].bank_transitions)
        return output, join_states(*(after for _, after in results))

    return step


def join_states(*states: State) -> State:
    """Combine states into one, whose rows are selected and reordered together."""
    return State(tuple(state.memory for state in states), tuple(state.carry for state in states))


def split_states(state: State) -> list[State]:
    """Return the states that `join_states` has combined."""
    memories, carries = cast(tuple[TensorTree, ...], state.memory), cast(tuple[TensorTree, ...], state.carry)
    return [State(memory, carry) for memory, carry in zip(memories, carries, strict=True)]


def _combine_attention(parts: Sequence[WeightedStep], outputs: Sequence[StepOutput]) -> Tensor | None:
    """The weighted mean of the first attention [N,S] and those over the same positions."""
    first = outputs[0].attention
    if first is None:
        return None
    others = [
        (part.weight, output.attention)
        for part, output in zip(parts[1:], outputs[1:], strict=True)
        if part.same_positions and output.attention is not None and output.attention.shape == first.shape
    ]
    if not others:
        return first
    weighted = [(parts[0].weight, first), *others]
    total = sum(weight for weight, _ in weighted)
    return functools.reduce(torch.add, [weight / total * attention for weight, attention in weighted])
