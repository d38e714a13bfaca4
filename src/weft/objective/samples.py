"""Outputs drawn from a model, as training by risk needs them: several of each sentence, and no two the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeAlias

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.state import Scores, State, Step
from weft.model.model import Model
from weft.objective.drawing import drawn
from weft.search.single import search_single

Tokens: TypeAlias = tuple[int, ...]  # of an output, without END


@torch.no_grad()
def draw(model: Model, source: Padded, samples: int, limit: Tensor) -> list[list[Tokens]]:
    """So many outputs of each sentence, token by token from the model's own distribution; limit [B]: tokens at most."""
    rows = torch.arange(len(limit), device=limit.device).repeat_interleave(samples)
    with without_dropout(model):
        state = model.start(model.encode(source)).select(rows, rows)
        found = search_single(_without_attention(model), state, limit[rows], _drawn)
    return [
        [hypothesis.tokens for hypothesis in chain.from_iterable(found[first : first + samples])]
        for first in range(0, len(found), samples)
    ]


def different(outputs: Sequence[Tokens]) -> list[Tokens]:
    """Each output once, where it came first."""
    return list(dict.fromkeys(outputs))


@contextmanager
def without_dropout(model: Model) -> Iterator[None]:
    """What is said inside is what the model would say in use."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _without_attention(model: Model) -> Step:
    """The model's step; where it looked would be kept for every output, and nobody asks."""

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        scores, after = model.step(tokens, state)
        return scores._replace(attention=None), after

    return step


def _drawn(log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:  # noqa: ARG001 (as all picks)
    return drawn(log_probs)
