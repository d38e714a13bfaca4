"""weft watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def watch(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; one may not be there yet.")],
    once: Annotated[bool, typer.Option("--once", help="Draw one picture of how they are now, and end.")] = False,
) -> None:
    """Draw one run or several while they train: losses, scores, rates, and what becomes of sample sentences."""
    from rich.console import Console

    from weft.watching.run import watch_all
    from weft.watching.terminal import follow, show_once

    console, watched = Console(highlight=False), watch_all(runs)
    if once or not console.is_terminal or console.is_dumb_terminal:
        show_once(watched, console)
    else:
        follow(watched, console)
