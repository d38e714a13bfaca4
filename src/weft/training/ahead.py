"""Batches on their way to the device while it computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from weft.data.batches import Batch
from weft.training.position import Position

Item = TypeVar("Item")
Update = tuple[Position, list[Batch]]
AHEAD = 2  # updates


def delivered(updates: Iterator[Update], device: torch.device) -> Iterator[Update]:
    """The batches on the device. For a GPU a thread prepares them; a CPU has none to spare, and needs about 1 ms."""
    ready = ((position, [batch.to(device) for batch in batches]) for position, batches in updates)
    return ready if device.type == "cpu" else ahead(ready, AHEAD)


def ahead(items: Iterator[Item], count: int) -> Iterator[Item]:
    """The same endless items, of which a thread makes `count` before they are asked for."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, items) for _ in range(count))
        while True:
            waiting.append(thread.submit(next, items))
            yield waiting.popleft().result()
