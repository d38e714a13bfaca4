"""What a person sees while a model trains: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

MANY = 4096 * 64  # pairs between two plain lines


class Display(Protocol):
    def say(self, text: str) -> None:
        """A line that stays."""
        ...

    def count(self, what: str, done: int) -> None:
        """How far something has come whose end is not known."""
        ...

    def step(self, record: dict[str, Any], steps: int) -> None:
        """Where the run is."""
        ...


class Plain:
    """Plain lines on standard error."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def count(self, what: str, done: int) -> None:
        if done % MANY == 0:
            self.say(f"{what}: {done:,} pairs")

    def step(self, record: dict[str, Any], steps: int) -> None:
        self.say(f"step {record['step']}/{steps}  {summary(record)}  left {clock(record['left'])}")


class Live:
    """A bar that is drawn over, and lines above it."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.task = progress.add_task("", total=None, summary="")

    def say(self, text: str) -> None:
        self.progress.console.print(text, markup=False, highlight=False)

    def count(self, what: str, done: int) -> None:
        self.progress.update(self.task, completed=done, summary=what)

    def step(self, record: dict[str, Any], steps: int) -> None:
        self.progress.update(self.task, total=steps, completed=record["step"], summary=summary(record))


@contextmanager
def display() -> Iterator[Display]:
    """A live display if a person looks at a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield Plain()
        return
    columns = (
        TextColumn("{task.completed}/{task.total}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[summary]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as progress:
        yield Live(progress)


def summary(record: dict[str, Any]) -> str:
    """The numbers of one report in one short line."""
    return "  ".join(
        [
            f"epoch {record['epoch']}",
            f"loss {record['loss']:.3f}",
            *([f"accuracy {record['accuracy']:.1f}%"] if "accuracy" in record else []),
            f"rate {record['rate']:.2e}",
            f"norm {record['norm']:.2f}",
            f"{record['tokens_per_second']:,.0f} tok/s",
            *([f"best {record['best']:.2f}"] if record["best"] is not None else []),
        ]
    )


def validation_line(record: dict[str, Any], chosen: str, *, improved: bool) -> str:
    """The numbers of one validation in one line."""
    numbers = "  ".join(f"{name} {value:.2f}" for name, value in record["valid"].items() if isinstance(value, float))
    return f"validation at step {record['step']}: {numbers}" + (f"  (best {chosen} so far)" if improved else "")


def clock(seconds: float) -> str:
    """1:02:03, or 2:03 below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
