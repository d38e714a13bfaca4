"""Progress bars: on standard error, only in a terminal, and only for work that takes more than two seconds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
ProgressUpdate: TypeAlias = Callable[[str, int], None]  # a label, and how many items are done

BAR_DELAY = 2.0  # seconds
UPDATE_INTERVAL = 0.1  # seconds


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[ProgressUpdate]:
    """Yield a function that updates a bar with the number of items, their rate and, if `total` is known, the time left.

    The bar appears after two seconds, even if nothing is done yet, and is removed at the end. Without a terminal there
    is none.
    """
    if not sys.stderr.isatty():
        yield lambda _label, _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[figures]}")
    clock = TimeElapsedColumn() if total is None else TimeRemainingColumn()
    progress = Progress(*columns, clock, console=Console(stderr=True), transient=True, redirect_stdout=False)
    task, start = progress.add_task(label, total=total, figures=""), time.monotonic()
    updated = start
    timer = Timer(BAR_DELAY, progress.start)
    timer.daemon = True

    def update(name: str, done: int) -> None:
        nonlocal updated
        now = time.monotonic()
        if now - updated >= UPDATE_INTERVAL:
            updated, of = now, "" if total is None else f"/{total:,}"
            figures = f"{done:,}{of}  {done / (now - start):,.1f}/s"
            progress.update(task, description=name, completed=done, figures=figures)

    timer.start()
    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


def track_progress(
    items: Iterable[Item], label: str, total: int | None = None, *, prints_items: bool = False
) -> Iterator[Item]:
    """Yield the items, and show a progress bar meanwhile.

    prints_items: the caller prints each item on standard output, so there is no bar if that is a terminal too.
    """
    if prints_items and sys.stdout.isatty():
        yield from items
        return
    with progress_bar(label, total) as update:
        for done, item in enumerate(items, start=1):
            yield item
            update(label, done)
