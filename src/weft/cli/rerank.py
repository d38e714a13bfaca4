"""weft rerank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device
from weft.cli.several import numbers_of


def rerank(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    input_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="INPUT", help="What weft translate wrote with --json and --best N. Default: standard input."
        ),
    ] = None,
    others: Annotated[
        list[Path] | None, typer.Option("--with", metavar="MODEL", help="Another model that scores. May be repeated.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="W0,W1,...",
            help="How much each score counts: that in INPUT, then those of the models. Default: all the same.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0.0, help="A score is divided by its number of tokens to this power.")
    ] = 1.0,
    output: Annotated[Path | None, typer.Option(help="Where to write. Default: standard output.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with all alternatives and scores.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Choose again among the alternatives of a translation, with the scores of other models."""
    from weft.engine.output import check_output, lines_of, write_lines
    from weft.engine.reranking import as_line, make_reranker
    from weft.engine.scoring import load_scorer

    check_output(output, [input_file])
    given = None if weights is None else numbers_of(weights)
    reranker = make_reranker([load_scorer(one, device) for one in [model, *(others or [])]], given, alpha)
    lines = reranker.stream(lines_of(input_file))
    write_lines(((as_line(one, as_json=json), False) for one in lines), output)
