"""Progress display: a live bar in a terminal, plain lines elsewhere, nothing on ranks other than 0."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import rich.live
from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.core.formatting import format_duration
from weft.core.progress_bar import BAR_DELAY, UPDATE_INTERVAL
from weft.training.distributed import is_main_process

Item = TypeVar("Item")
PLAIN_INTERVAL = 4096 * 64  # pairs between two plain lines


class ProgressDisplay:
    """Shows nothing, as on ranks other than 0; the base class of displays."""

    def print(self, text: str) -> None:
        """Print a permanent line."""

    def progress(self, label: str, done: int) -> None:
        """Show how many pairs are done of a task of unknown size."""

    def track(self, items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:  # noqa: ARG002
        """Yield the items of a task that may take long, and show how many are done (total None: of unknown many)."""
        return iter(items)

    def report(self, record: dict[str, Any], steps: int | None) -> None:
        """Show a training report; `steps` is None as long as the number of steps is unknown."""


class PlainDisplay(ProgressDisplay):
    """Plain lines on standard error."""

    def print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def progress(self, label: str, done: int) -> None:
        if done % PLAIN_INTERVAL == 0:
            self.print(f"{label}: {done:,} pairs")

    def report(self, record: dict[str, Any], steps: int | None) -> None:
        time_left = format_duration(record["seconds_left"])
        self.print(f"step {_format_step(record, steps)}  {format_progress(record)}  left {time_left}")


class LiveDisplay(ProgressDisplay):
    """A progress bar and a line of figures that are updated in place, with permanent lines above them."""

    def __init__(self, live: rich.live.Live):
        self.live = live

    def print(self, text: str) -> None:
        self.live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def progress(self, label: str, done: int) -> None:
        self.live.update(Text(f"{label}: {done:,} pairs"))

    def track(self, items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
        start, next_update = time.monotonic(), time.monotonic() + BAR_DELAY
        for done, item in enumerate(items, start=1):
            yield item
            now = time.monotonic()
            if now > next_update:
                self.live.update(_task_progress(label, done, total, now - start))
                next_update = now + UPDATE_INTERVAL
        self.live.update(Text(""))

    def report(self, record: dict[str, Any], steps: int | None) -> None:
        seconds, seconds_left = record["seconds"], record["seconds_left"]
        bar = ProgressBar(total=seconds + seconds_left, completed=seconds, width=40)
        grid = Table.grid(padding=(0, 2))
        grid.add_row(bar, _format_step(record, steps), f"left {format_duration(seconds_left)}")
        self.live.update(Group(grid, Text(format_progress(record))))


@contextmanager
def open_display() -> Iterator[ProgressDisplay]:
    """Yield a live display if standard error is a terminal, else plain lines; nothing on ranks other than 0."""
    if not is_main_process():
        yield ProgressDisplay()
        return
    if not sys.stderr.isatty():
        yield PlainDisplay()
        return
    with rich.live.Live(console=Console(stderr=True), refresh_per_second=4, redirect_stdout=False) as live:
        yield LiveDisplay(live)


def _task_progress(label: str, done: int, total: int | None, seconds: float) -> Table:
    """A line with a bar, the rate, and the time left if the total is known."""
    grid, rate = Table.grid(padding=(0, 2)), f"{done / seconds:,.0f}/s"
    if total is None:
        grid.add_row(label, f"{done:,}", rate)
    else:
        left = f"left {format_duration(seconds / done * (total - done))}"
        grid.add_row(label, ProgressBar(total=total, completed=done, width=40), f"{done:,}/{total:,}", rate, left)
    return grid


def _format_step(record: dict[str, Any], steps: int | None) -> str:
    return str(record["step"]) if steps is None else f"{record['step']}/{steps}"


def format_progress(record: dict[str, Any]) -> str:
    """Return the figures of a report in one short line."""
    accuracy = f"accuracy {record['accuracy']:.1f}%  " if "accuracy" in record else ""
    return (
        f"epoch {record['epoch']}  loss {record['loss']:.3f}  {accuracy}rate {record['learning_rate']:.2e}  "
        f"norm {record['gradient_norm']:.2f}  {record['tokens_per_second']:,.0f} tok/s"
    )


def format_validation(record: dict[str, Any], best_metric: str, *, improved: bool) -> str:
    """Return the figures of a validation in one line."""
    scores = record["validation"].items()
    numbers = "  ".join(f"{name} {value:.2f}" for name, value in scores if isinstance(value, float))
    return f"validation at {record['step']}: {numbers}" + (f"  best {best_metric}" if improved else "")
