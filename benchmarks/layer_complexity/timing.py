"""Time of layers at many sizes, in rounds over all layers and sizes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import torch
from benchmarks.layer_complexity.layer_kinds import Kind
from torch import Tensor, nn

MIN_SECONDS = 0.02  # minimum seconds of a timing; faster layers are called repeatedly


class Size(NamedTuple):
    length: int
    width: int


class Turn(NamedTuple):
    """A layer of the kind of this name, at a size."""

    kind: str
    size: Size


Times: TypeAlias = dict[Turn, list[float]]  # seconds per batch, one value per round
Pass: TypeAlias = Callable[[nn.Module, Tensor], None]


def forward(layer: nn.Module, x: Tensor) -> None:
    with torch.inference_mode():
        layer(x)


def forward_and_backward(layer: nn.Module, x: Tensor) -> None:
    """With the gradients of the weights and of the input, as in the middle of a network."""
    torch.autograd.backward(layer(x.detach().requires_grad_()).sum())
    layer.zero_grad()


class Timer:
    """Times layers of every width."""

    def __init__(self, kinds: Sequence[Kind], widths: Sequence[int], batch: int, run_pass: Pass):
        self.layers = {(kind.name, width): kind.make(width).eval() for kind in kinds for width in widths}
        self.batch = batch
        self.run_pass = run_pass

    def seconds(self, turn: Turn, calls: int) -> float:
        """Return the mean seconds per call."""
        layer = self.layers[turn.kind, turn.size.width]
        x = torch.randn(self.batch, *turn.size)
        started = time.perf_counter()
        for _ in range(calls):
            self.run_pass(layer, x)
        return (time.perf_counter() - started) / calls

    def calls(self, turn: Turn) -> int:
        """Return the number of calls that takes MIN_SECONDS, after a warm-up call."""
        self.seconds(turn, 1)
        return math.ceil(MIN_SECONDS / self.seconds(turn, 1))


def measure(timer: Timer, turns: Sequence[Turn], rounds: int, log: Callable[[str], None]) -> Times:
    """Time all turns in every round, in reverse order in every second round."""
    calls: Mapping[Turn, int] = {turn: timer.calls(turn) for turn in turns}
    times: Times = {turn: [] for turn in turns}
    for number in range(rounds):
        for turn in turns[:: 1 if number % 2 == 0 else -1]:
            times[turn].append(timer.seconds(turn, calls[turn]))
        log(f"round {number + 1} of {rounds}")
    return times
