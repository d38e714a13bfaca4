"""`weft score` and `weft rerank`: score existing translations, and choose among alternatives by such scores."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption, ModelArgument, OutputOption, parse_weights


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


def rerank(
    model: ModelArgument,
    input_file: Annotated[
        Path | None,
        typer.Argument(metavar="INPUT", help="The output of weft translate --json. Default: standard input."),
    ] = None,
    scorers: Annotated[
        list[Path] | None, typer.Option("--scorer", metavar="MODEL", help="Another model that scores. Repeatable.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="W0,W1,...", help="Weights of the score in INPUT and of each model.")
    ] = None,
    alpha: Annotated[float, typer.Option(min=0.0, help="Divide scores by their number of tokens to this power.")] = 1.0,
    output: OutputOption = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines, with all alternatives and scores.")] = False,
    device: DeviceOption = "auto",
) -> None:
    """Rerank the alternatives of translations with the scores of other models."""
    from weft.core.files import check_output_file
    from weft.core.progress_bar import track_progress
    from weft.inference.reranking import format_reranked, make_reranker
    from weft.inference.scoring import load_scorer
    from weft.inference.translation_io import read_input_lines, write_lines

    check_output_file(output, [input_file])
    numbers = None if weights is None else parse_weights(weights)
    reranker = make_reranker([load_scorer(path, device) for path in [model, *(scorers or [])]], numbers, alpha)
    ranked = reranker.stream(read_input_lines(input_file))
    lines = track_progress(ranked, "reranking", prints_items=output is None)
    write_lines((format_reranked(line, as_json=json) for line in lines), output)
