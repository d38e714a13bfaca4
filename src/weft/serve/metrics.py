"""What the server counts, in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from threading import Lock

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Counter:
    """A number for each set of labels that only grows."""

    def __init__(self, name: str, help_text: str):
        self.name, self.help_text = name, help_text
        self._values: dict[Labels, float] = defaultdict(float)
        self._lock = Lock()

    def add(self, amount: float, labels: Mapping[str, str]) -> None:
        with self._lock:
            self._values[tuple(labels.items())] += amount

    def lines(self) -> Iterator[str]:
        yield from heading(self.name, self.help_text, "counter")
        with self._lock:
            values = sorted(self._values.items())
        yield from (sample(self.name, labels, value) for labels, value in values)


class Histogram:
    """For each set of labels, how many values were no more than each bound."""

    def __init__(self, name: str, help_text: str, bounds: Sequence[float]):
        self.name, self.help_text, self.bounds = name, help_text, bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = defaultdict(float)
        self._lock = Lock()

    def add(self, value: float, labels: Mapping[str, str]) -> None:
        key = tuple(labels.items())
        with self._lock:
            counts = self._counts.setdefault(key, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[key] += value

    def lines(self) -> Iterator[str]:
        yield from heading(self.name, self.help_text, "histogram")
        with self._lock:
            known = sorted((labels, tuple(counts), self._sums[labels]) for labels, counts in self._counts.items())
        for labels, counts, total in known:
            for bound, count in zip([*map(str, self.bounds), "+Inf"], accumulate(counts), strict=True):
                yield sample(f"{self.name}_bucket", (*labels, ("le", bound)), count)
            yield sample(f"{self.name}_sum", labels, total)
            yield sample(f"{self.name}_count", labels, sum(counts))


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        self.requests = Counter("weft_requests_total", "Requests answered, by path and status code.")
        self.seconds = Histogram("weft_request_seconds", "Seconds from a request to the end of its answer.", SECONDS)
        self.characters = Counter("weft_characters_total", "Characters of the texts that were to be translated.")
        self.batches = Histogram("weft_batch_lines", "Lines that were translated at once.", SIZES)
        self.reloads = Counter("weft_reloads_total", "Reloads of a model, by outcome.")

    def text(self, waiting: Mapping[str, int]) -> str:
        """All of it; waiting: for each model, the lines in its queue."""
        queues = [sample("weft_queue_lines", (("model", name),), count) for name, count in waiting.items()]
        counted = (self.requests, self.seconds, self.characters, self.batches, self.reloads)
        lines = [line for one in counted for line in one.lines()]
        return joined([*lines, *heading("weft_queue_lines", "Lines that wait for a model.", "gauge"), *queues])


def heading(name: str, help_text: str, kind: str) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def sample(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{label}="{escaped(text)}"' for label, text in labels)
    return f"{name}{{{shown}}} {value}"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
