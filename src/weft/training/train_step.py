"""One update of the weights, and the meter that averages the updates between two reports."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from weft.data.batches import Batch
from weft.optim.optimizers import Optimizer
from weft.training.strategy import TrainingStrategy


@dataclass(frozen=True)
class UpdateStats:
    """Sums over the `count` target tokens of an update, and the norm of its gradient before clipping."""

    loss: float
    count: float
    gradient_norm: float
    parts: dict[str, float]


class NonFiniteError(Exception):
    """The loss or its gradient is infinite or not a number; the weights are unchanged."""


def train_step(
    strategy: TrainingStrategy,
    optimizer: Optimizer,
    batches: Sequence[Batch],
    *,
    step: int,
    learning_rate: float,
    clip_norm: float | None,
) -> UpdateStats:
    """Sum the gradients of all batches, divide once by the number of tokens on all ranks, clip and apply them.

    Tries the strategy's loss scales in turn until the gradients are finite; raises NonFiniteError if none is left.
    """
    for scale in strategy.loss_scales:
        stats = accumulate_gradients(strategy, batches, step, scale)
        if math.isfinite(stats.gradient_norm) and math.isfinite(stats.loss):
            break
        strategy.model.zero_grad()
    else:
        raise NonFiniteError
    clip_factor = 1.0 if clip_norm is None else min(1.0, clip_norm / (stats.gradient_norm + 1e-6))
    torch._foreach_mul_(gradient_tensors(strategy), clip_factor / gradient_divisor(strategy, stats.count, scale))
    optimizer.step(learning_rate)
    return stats


def accumulate_gradients(strategy: TrainingStrategy, batches: Sequence[Batch], step: int, scale: float) -> UpdateStats:
    """Add the gradients of scale * loss over all batches, and return the sums over all ranks."""
    losses = [
        strategy.backward(batch, step, last=number == len(batches), scale=scale)
        for number, batch in enumerate(batches, 1)
    ]
    total, count, *parts = strategy.ranks.all_reduce(
        [
            sum(loss.total.item() for loss in losses),
            sum(loss.count.item() for loss in losses),
            *(sum(loss.parts[name].item() for loss in losses) for name in losses[0].parts),
        ]
    )
    norm = strategy.gradient_norm(gradient_tensors(strategy)) / gradient_divisor(strategy, count, scale)
    return UpdateStats(total, count, norm, dict(zip(losses[0].parts, parts, strict=True)))


def gradient_divisor(strategy: TrainingStrategy, count: float, scale: float) -> float:
    """Return what turns the accumulated gradients (means over ranks of sums over tokens) into means over tokens."""
    return scale * count / strategy.ranks.world_size


def gradient_tensors(strategy: TrainingStrategy) -> list[Tensor]:
    return [values for weight in strategy.model.parameters() if (values := gradient_values(weight)) is not None]


def gradient_values(parameter: nn.Parameter) -> Tensor | None:
    """Return the gradient for reading and changing in place; of a sparse one, its coalesced rows."""
    if parameter.grad is None or not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


@dataclass(frozen=True)
class MeterState:
    """A meter in a checkpoint: seconds of the run, updates since the last report, and the seconds they took."""

    seconds: float = 0.0
    updates: list[UpdateStats] = field(default_factory=list)
    busy_seconds: float = 0.0


class TrainingMeter:
    """Collects updates; each report averages those since the last one."""

    def __init__(self, state: MeterState | None = None):
        state = state or MeterState()
        now = time.monotonic()
        self.run_start, self.report_start = now - state.seconds, now - state.busy_seconds
        self.updates = list(state.updates)

    def state(self) -> MeterState:
        return MeterState(self.seconds(), self.updates, time.monotonic() - self.report_start)

    def seconds(self) -> float:
        """Return the run's time so far."""
        return time.monotonic() - self.run_start

    def add(self, stats: UpdateStats) -> None:
        self.updates.append(stats)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of the block from the tokens per second."""
        pause_start = time.monotonic()
        yield
        self.report_start += time.monotonic() - pause_start

    def report(self) -> dict[str, Any]:
        """Return the means since the last report; tokens_per_second counts real target tokens, without padding."""
        count = sum(stats.count for stats in self.updates)
        record = {
            "loss": sum(stats.loss for stats in self.updates) / count,
            **{name: sum(stats.parts[name] for stats in self.updates) / count for name in self.updates[0].parts},
            "gradient_norm": sum(stats.gradient_norm for stats in self.updates) / len(self.updates),
            "tokens_per_second": count / (time.monotonic() - self.report_start),
        }
        self.report_start, self.updates = time.monotonic(), []
        return record
