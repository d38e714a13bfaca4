"""What a layer takes at many sizes: the median of several rounds, in which every layer takes its turn at every size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import torch
from benchmarks.orders.kinds import Kind
from torch import Tensor, nn

SHORTEST = 0.02  # seconds of a timing; what is quicker is done several times in it


class Size(NamedTuple):
    length: int
    width: int


class Turn(NamedTuple):
    """A layer of the kind of this name, at a size."""

    kind: str
    size: Size


Times: TypeAlias = dict[Turn, list[float]]  # seconds of a batch, a number a round
Pass: TypeAlias = Callable[[nn.Module, Tensor], None]


def forward(layer: nn.Module, x: Tensor) -> None:
    with torch.inference_mode():
        layer(x)


def forward_and_backward(layer: nn.Module, x: Tensor) -> None:
    """With the gradients of the weights and of the input, as in the middle of a network."""
    torch.autograd.backward(layer(x.detach().requires_grad_()).sum())
    layer.zero_grad()


class Timer:
    """Layers of every width, and how long each takes."""

    def __init__(self, kinds: Sequence[Kind], widths: Sequence[int], batch: int, one: Pass):
        self.layers = {(kind.name, width): kind.make(width).eval() for kind in kinds for width in widths}
        self.batch = batch
        self.one = one

    def seconds(self, turn: Turn, calls: int) -> float:
        """Of one call, in the mean of so many."""
        layer = self.layers[turn.kind, turn.size.width]
        x = torch.randn(self.batch, *turn.size)
        started = time.perf_counter()
        for _ in range(calls):
            self.one(layer, x)
        return (time.perf_counter() - started) / calls

    def calls(self, turn: Turn) -> int:
        """So many that the clock can tell; the first call is to warm up."""
        self.seconds(turn, 1)
        return math.ceil(SHORTEST / self.seconds(turn, 1))


def measure(timer: Timer, turns: Sequence[Turn], rounds: int, tell: Callable[[str], None]) -> Times:
    """Every second round goes in the opposite order, so that a busy moment does not always hit the same layer."""
    calls: Mapping[Turn, int] = {turn: timer.calls(turn) for turn in turns}
    times: Times = {turn: [] for turn in turns}
    for number in range(rounds):
        for turn in turns[:: 1 if number % 2 == 0 else -1]:
            times[turn].append(timer.seconds(turn, calls[turn]))
        tell(f"round {number + 1} of {rounds}")
    return times
