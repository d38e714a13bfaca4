"""`weft watch` and `weft report`: follow a training run, and summarize it in a page."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption


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


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or not.")],
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    test: Annotated[
        bool, typer.Option("--test", help="Evaluate on the test data instead of the validation data.")
    ] = False,
    max_lines: Annotated[int, typer.Option(min=1, help="Translate and score at most this many lines.")] = 1000,
    sentences: Annotated[int, typer.Option(min=1, help="The number of example sentences of each kind.")] = 4,
    device: DeviceOption = "auto",
) -> None:
    """Write a self-contained page about a training run: data, settings, curves, scores, examples, attention,
    errors and diagnosis."""
    from weft.visualize.run_evaluation import ReportOptions
    from weft.visualize.run_report import report_run

    summary = report_run(run, output, ReportOptions(test, max_lines, sentences, device))
    print(f"{output}: {summary.name}, {summary.describe_status()}")
