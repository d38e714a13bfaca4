"""Counting what happened since the last report."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.train.update import Sums


class Meter:
    """Adds updates up; a report gives their means and starts anew. Time goes on from `seconds`."""

    def __init__(self, seconds: float):
        self.started = time.monotonic() - seconds
        self._restart()

    def seconds(self) -> float:
        """The run's time so far."""
        return time.monotonic() - self.started

    def add(self, sums: Sums) -> None:
        self.seen.append(sums)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is done inside does not count as training in tokens per second."""
        before = time.monotonic()
        yield
        self.since += time.monotonic() - before

    def report(self) -> dict[str, Any]:
        """Means since the last report. Tokens are real target tokens; their rate counts batches and updates."""
        count = sum(sums.count for sums in self.seen)
        record = {
            "loss": sum(sums.loss for sums in self.seen) / count,
            "nll": sum(sums.nll for sums in self.seen) / count,
            "accuracy": 100 * sum(sums.right for sums in self.seen) / count,
            "norm": sum(sums.norm for sums in self.seen) / len(self.seen),
            "tokens_per_second": count / (time.monotonic() - self.since),
        }
        self._restart()
        return record

    def _restart(self) -> None:
        self.since = time.monotonic()
        self.seen: list[Sums] = []
