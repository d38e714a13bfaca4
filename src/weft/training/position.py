"""Where a run is: enough to go on from exactly there."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from weft.data.batches import Batch, Batches


@dataclass(frozen=True)
class Position:
    """After `step` updates: the epoch, and how many of its batches were consumed."""

    step: int = 0
    epoch: int = 0
    batch: int = 0


def stream(batches: Batches, position: Position, accumulate: int) -> Iterator[tuple[Position, list[Batch]]]:
    """The batches of each update from the position on, without end, with the position after that update."""
    numbered = numbered_batches(batches, position)
    step = position.step
    while True:
        step += 1
        taken = list(islice(numbered, accumulate))
        epoch, number, _ = taken[-1]
        yield Position(step, epoch, number), [batch for _, _, batch in taken]


def numbered_batches(batches: Batches, position: Position) -> Iterator[tuple[int, int, Batch]]:
    """Each batch with its epoch and its number in it, counted from 1."""
    epoch, start = position.epoch, position.batch
    while True:
        for number, batch in enumerate(batches.epoch(epoch, start), start + 1):
            yield epoch, number, batch
        epoch, start = epoch + 1, 0
