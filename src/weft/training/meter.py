"""Counting what happened since the last report."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from weft.training.update import Sums


@dataclass(frozen=True)
class Counted:
    """Plain numbers for a meter to go on from."""

    seconds: float
    seen: list[Sums]
    busy: float


class Meter:
    """Adds updates up; a report gives their means and starts anew.

    A run that goes on gives the seconds it had, what it had seen since its last report, and in how many seconds.
    """

    def __init__(self, seconds: float = 0.0, seen: Sequence[Sums] = (), busy: float = 0.0):
        now = time.monotonic()
        self.started, self.since = now - seconds, now - busy
        self.seen = list(seen)

    @classmethod
    def restored(cls, counted: Counted) -> "Meter":
        return cls(counted.seconds, counted.seen, counted.busy)

    def counted(self) -> Counted:
        return Counted(self.seconds(), self.seen, time.monotonic() - self.since)

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
            **{name: sum(sums.parts[name] for sums in self.seen) / count for name in self.seen[0].parts},
            "norm": sum(sums.norm for sums in self.seen) / len(self.seen),
            "tokens_per_second": count / (time.monotonic() - self.since),
        }
        self.since, self.seen = time.monotonic(), []
        return record
