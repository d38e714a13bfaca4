"""`weft score`: score existing translations."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption, ModelArgument, OutputOption


def score(
    model: ModelArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="The source and its target, or one .tsv or .jsonl.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines, with tokens and their scores.")] = False,
    output: OutputOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Score existing translations: the log-probability, number of tokens and perplexity of each line.

    \b
    weft score MODEL SOURCE TARGET
    weft score MODEL PAIRS.tsv
    weft score LANGUAGE_MODEL TEXT
    """
    from weft.core.files import check_output_file
    from weft.inference.scoring import load_scorer, write_scores

    check_output_file(output, files)
    write_scores(load_scorer(model, device), files, output, as_json=json)
