"""What a person sees while a model trains: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import rich.live
from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.core.numbers import clock
from weft.training.ranks import speaks

MANY = 4096 * 64  # pairs between two plain lines


class Display(Protocol):
    def say(self, text: str) -> None:
        """A line that stays."""
        ...

    def count(self, what: str, done: int) -> None:
        """How far something has come whose end is not known."""
        ...

    def step(self, record: dict[str, Any], steps: int | None) -> None:
        """Where the run is; `steps` is None for as long as their number is not known."""
        ...


class Plain:
    """Plain lines on standard error."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def count(self, what: str, done: int) -> None:
        if done % MANY == 0:
            self.say(f"{what}: {done:,} pairs")

    def step(self, record: dict[str, Any], steps: int | None) -> None:
        self.say(f"step {place(record, steps)}  {summary(record)}  left {clock(record['left'])}")


class Live:
    """Two lines that are drawn over (a bar with the time left, and the numbers), and lines above them that stay."""

    def __init__(self, live: rich.live.Live):
        self.live = live

    def say(self, text: str) -> None:
        self.live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def count(self, what: str, done: int) -> None:
        self.live.update(Text(f"{what}: {done:,} pairs"))

    def step(self, record: dict[str, Any], steps: int | None) -> None:
        bar = Table.grid(padding=(0, 2))
        whole = ProgressBar(total=record["seconds"] + record["left"], completed=record["seconds"], width=40)
        bar.add_row(whole, place(record, steps), f"left {clock(record['left'])}")
        self.live.update(Group(bar, Text(summary(record))))


class Silent:
    """That of a process beside the first, which speaks for all."""

    def say(self, text: str) -> None:
        pass

    def count(self, what: str, done: int) -> None:
        pass

    def step(self, record: dict[str, Any], steps: int | None) -> None:
        pass


@contextmanager
def display() -> Iterator[Display]:
    """A live display if a person looks at a terminal, else plain lines; of several processes, the first is seen."""
    if not speaks():
        yield Silent()
        return
    if not sys.stderr.isatty():
        yield Plain()
        return
    with rich.live.Live(console=Console(stderr=True), refresh_per_second=4, redirect_stdout=False) as live:
        yield Live(live)


def place(record: dict[str, Any], steps: int | None) -> str:
    return str(record["step"]) if steps is None else f"{record['step']}/{steps}"


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
        ]
    )


def validation_line(record: dict[str, Any], chosen: str, *, improved: bool) -> str:
    """The numbers of one validation in one line."""
    numbers = "  ".join(f"{name} {value:.2f}" for name, value in record["valid"].items() if isinstance(value, float))
    return f"validation at {record['step']}: {numbers}" + (f"  best {chosen}" if improved else "")
