"""Batches in training order from a data cursor, grouped per update for gradient accumulation, and prefetched to the
device.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import torch

from weft.data.batches import Batch, BatchLoader

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
    step = cursor.step
    while True:
        step += 1
        update = list(islice(numbered, gradient_accumulation))
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
