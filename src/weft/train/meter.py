"""Counting what happened since the last report."""

import time
from typing import Any

from weft.train.update import Sums


class Meter:
    """Adds updates up; a report gives their means and starts anew. Time goes on from `seconds`."""

    def __init__(self, seconds: float):
        self.started = time.monotonic() - seconds
        self.seen: list[Sums] = []
        self.busy = 0.0

    def seconds(self) -> float:
        """The run's time so far."""
        return time.monotonic() - self.started

    def add(self, sums: Sums, seconds: float) -> None:
        self.seen.append(sums)
        self.busy += seconds

    def report(self) -> dict[str, Any]:
        """Means since the last report. Tokens are real target tokens, and their rate counts time in updates alone."""
        count = sum(sums.count for sums in self.seen)
        record = {
            "loss": sum(sums.loss for sums in self.seen) / count,
            "nll": sum(sums.nll for sums in self.seen) / count,
            "accuracy": 100 * sum(sums.right for sums in self.seen) / count,
            "norm": sum(sums.norm for sums in self.seen) / len(self.seen),
            "tokens_per_second": count / self.busy,
        }
        self.seen, self.busy = [], 0.0
        return record
