"""The batches of each update, one update of the weights, and the meter that averages updates between two reports."""

import itertools
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from weft.data.batches import Batch, BatchLoader
from weft.optim.optimizers import Optimizer
from weft.training.parallel_strategy import TrainingStrategy

PREFETCHED_UPDATES = 2
Item = TypeVar("Item")


@dataclass(frozen=True)
class DataCursor:
    """The position in the data after `step` updates: the epoch, and how many of its batches were consumed."""

    step: int = 0
    epoch: int = 0
    batch: int = 0


UpdateBatches = tuple[DataCursor, list[Batch]]


def iterate_updates(batches: BatchLoader, cursor: DataCursor, gradient_accumulation: int) -> Iterator[UpdateBatches]:
    """Yield the batches of each update after the cursor, without end, with the cursor after that update."""
    numbered = enumerate_batches(batches, cursor)
    for step in itertools.count(cursor.step + 1):
        update = list(itertools.islice(numbered, gradient_accumulation))
        epoch, number, _ = update[-1]
        yield DataCursor(step, epoch, number), [batch for _, _, batch in update]


def enumerate_batches(batches: BatchLoader, cursor: DataCursor) -> Iterator[tuple[int, int, Batch]]:
    """Yield each batch with its epoch and its number within the epoch, counted from 1."""
    epoch, start = cursor.epoch, cursor.batch
    while True:
        for number, batch in enumerate(batches.epoch(epoch, start), start + 1):
            yield epoch, number, batch
        epoch, start = epoch + 1, 0


def prefetch_to_device(updates: Iterator[UpdateBatches], device: torch.device) -> Iterator[UpdateBatches]:
    """Move batches to the device: for a GPU in a thread, ahead of time; on a CPU (about 1 ms) when needed."""
    moved = ((cursor, [batch.to(device) for batch in batches]) for cursor, batches in updates)
    return moved if device.type == "cpu" else prefetch(moved, PREFETCHED_UPDATES)


def prefetch(items: Iterator[Item], count: int) -> Iterator[Item]:
    """Yield the items of an endless iterator, of which a thread computes `count` ahead."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, items) for _ in range(count))
        while True:
            waiting.append(thread.submit(next, items))
            yield waiting.popleft().result()


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
    factor = clip_factor / gradient_divisor(strategy, stats.count, scale)
    for gradient in gradient_tensors(strategy):
        gradient.mul_(factor)
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
    """A meter in a checkpoint: seconds of the run, updates since the last report, the seconds they took, and the
    updates of the last report.
    """

    seconds: float = 0.0
    updates: list[UpdateStats] = field(default_factory=list)
    busy_seconds: float = 0.0
    reported: list[UpdateStats] = field(default_factory=list)


class TrainingMeter:
    """Collects updates; each report averages those since the last one, the last report as many as the others."""

    def __init__(self, state: MeterState | None = None):
        state = state or MeterState()
        now = time.monotonic()
        self.run_start, self.report_start = now - state.seconds, now - state.busy_seconds
        self.updates, self.reported = list(state.updates), list(state.reported)

    def state(self) -> MeterState:
        return MeterState(self.seconds(), self.updates, time.monotonic() - self.report_start, self.reported)

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

    def report(self, interval: int) -> dict[str, Any]:
        """Return means over the updates since the last report, or over the last `interval` ones if they are fewer.

        tokens_per_second counts real target tokens since the last report, without padding.
        """
        missing = max(0, min(interval - len(self.updates), len(self.reported)))
        window = [*self.reported[len(self.reported) - missing :], *self.updates]
        count = sum(stats.count for stats in window)
        tokens = sum(stats.count for stats in self.updates)
        record = {
            "loss": sum(stats.loss for stats in window) / count,
            **{name: sum(stats.parts[name] for stats in window) / count for name in window[0].parts},
            "gradient_norm": sum(stats.gradient_norm for stats in window) / len(window),
            "tokens_per_second": tokens / (time.monotonic() - self.report_start),
        }
        self.report_start, self.updates, self.reported = time.monotonic(), [], self.updates
        return record
