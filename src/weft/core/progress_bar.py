"""A progress bar around work that may take long: on standard error, only in a terminal, and only after two seconds."""

import sys
from collections.abc import Iterable, Iterator
from threading import Timer
from typing import TypeVar

Item = TypeVar("Item")

BAR_DELAY = 2.0  # seconds


def track_progress(
    items: Iterable[Item], label: str, total: int | None = None, *, prints_items: bool = False
) -> Iterator[Item]:
    """Yield the items, and meanwhile show their number, rate and, if the total is known, the time left.

    prints_items: the caller prints each item on standard output, so there is no bar if that is a terminal too.
    """
    if not sys.stderr.isatty() or (prints_items and sys.stdout.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    clock = TimeElapsedColumn() if total is None else TimeRemainingColumn()
    progress = Progress(*columns, clock, console=Console(stderr=True), transient=True, redirect_stdout=False)
    task = progress.add_task(label, total=total, rate="")
    timer = Timer(BAR_DELAY, progress.start)  # the first items may take long
    timer.daemon = True
    timer.start()
    try:
        for number, item in enumerate(items, start=1):
            yield item
            elapsed = progress.tasks[task].elapsed
            progress.update(task, completed=number, rate=f"{number / elapsed:,.0f}/s" if elapsed else "")
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
