"""`weft report`: write the HTML report of a run."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption


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
    from weft.core.files import check_output_file
    from weft.visualize.run_evaluation import ReportOptions
    from weft.visualize.run_report import write_run_report
    from weft.visualize.run_summary import check_test_data, read_run_summary, report_inputs

    summary = read_run_summary(run)
    if test:
        check_test_data(summary)
    check_output_file(output, report_inputs(summary))
    write_run_report(summary, output, ReportOptions(test, max_lines, sentences, device))
    print(f"{output}: {summary.name}, {summary.describe_status()}")
