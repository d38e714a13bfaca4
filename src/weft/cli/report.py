"""weft report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or not.")],
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    test: Annotated[
        bool, typer.Option("--test", help="Measure on the test data that the run names, not the validation data.")
    ] = False,
    lines: Annotated[int, typer.Option(min=1, help="At most so many lines are translated and scored.")] = 1000,
    sentences: Annotated[int, typer.Option(min=1, help="How many sentences of each kind the page shows.")] = 4,
    device: Device = "auto",
) -> None:
    """Write a page about a training run, in one file that needs no network: its data, settings, curves, scores,
    examples, what the model looks at, where it fails, and what was diagnosed."""
    from weft.engine.output import check_output
    from weft.report.run.gathering import Wish
    from weft.report.run.held import check_test
    from weft.report.run.known import files_read, read_run
    from weft.report.run.page import report_on_page

    known = read_run(run)
    if test:
        check_test(known)
    check_output(output, files_read(known))
    told = report_on_page(known, output, Wish(test, lines, sentences, device)).outcome.told()
    print(f"{output}: {known.name}, {told}")
