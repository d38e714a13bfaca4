"""weft score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device


def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="The source and its target; or one .tsv or .jsonl. For a language model: a text."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="A JSON object a line, with pieces and their scores.")] = False,
    output: Annotated[Path | None, typer.Option(help="Where to write. Default: standard output.")] = None,
    device: Device = "auto",
) -> None:
    """Score given translations: for each line its log-probability, its tokens, and its perplexity.

    \b
    weft score MODEL SOURCE TARGET
    weft score MODEL PAIRS.tsv
    weft score LANGUAGE_MODEL TEXT
    """
    from weft.engine.output import check_output
    from weft.engine.scored_lines import write_scores
    from weft.engine.scoring import load_scorer

    check_output(output, files)
    write_scores(load_scorer(model, device), files, output, as_json=json)
