"""`weft watch`: watch training runs."""

from pathlib import Path
from typing import Annotated

import typer


def watch(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; they may not exist yet.")],
    once: Annotated[bool, typer.Option("--once", help="Show the current state once and exit.")] = False,
) -> None:
    """Show training runs while they train: losses, scores, learning rates, and translations of sample sentences."""
    from rich.console import Console

    from weft.visualize.run_monitor import monitor_runs
    from weft.visualize.terminal_dashboard import print_dashboard, run_dashboard

    console, monitor = Console(highlight=False), monitor_runs(runs)
    if once or not console.is_terminal or console.is_dumb_terminal:
        print_dashboard(monitor, console)
    else:
        run_dashboard(monitor, console)
