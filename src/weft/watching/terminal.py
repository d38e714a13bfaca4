"""Runs that are watched in a terminal, until they have ended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live

from weft.watching.run import ENDED, Watched, check_begun
from weft.watching.screen import Picture

EVERY = 0.5  # seconds between two looks
TURN = 10.0  # seconds until other sample sentences come
STILL = 36  # lines of a picture that is not drawn in a terminal


def show_once(runs: Sequence[Watched], console: Console) -> None:
    """One picture, as the runs are now."""
    for run in runs:
        run.look()
    check_begun(runs)
    height = min(STILL, console.height - 1) if console.is_terminal else STILL
    for line in Picture(runs).lines(console.width, height):
        console.print(line, soft_wrap=True)


def follow(runs: Sequence[Watched], console: Console) -> None:
    """Draw them again and again until all have ended, or Ctrl-C; then the last picture stays."""
    began = time.monotonic()
    try:
        with Live(console=console, screen=True, auto_refresh=False, redirect_stderr=False) as live:
            while not all_ended(runs):
                turn = int((time.monotonic() - began) / TURN)
                live.update(Picture(runs, turn), refresh=True)
                time.sleep(EVERY)
    finally:
        for line in Picture(runs).lines(console.width, console.height - 1):
            console.print(line, soft_wrap=True)


def all_ended(runs: Sequence[Watched]) -> bool:
    """After another look."""
    for run in runs:
        run.look()
    return all(run.progress().state in ENDED for run in runs)
