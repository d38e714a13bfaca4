"""`weft compare`: compare systems."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import (
    JsonOption,
    LowercaseOption,
    MetricOption,
    StemOption,
    SynonymsOption,
    TokenizeOption,
    parse_metric_options,
)
from weft.core.errors import UserError


def compare(
    references: Annotated[
        Path, typer.Argument(metavar="REFERENCES", help="A file of references, or a .tsv with sources and references.")
    ],
    systems: Annotated[
        list[Path], typer.Argument(metavar="SYSTEM", help="Files of translations, compared with the first.")
    ],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="The source text.")] = None,
    reference: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="More references of the same lines. Repeatable.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Target training text, for scores by word frequency.")
    ] = None,
    metric: MetricOption = None,
    test: Annotated[
        Literal["bootstrap", "randomization"], typer.Option(help="The significance test of differences.")
    ] = "randomization",
    samples: Annotated[
        int | None, typer.Option(min=100, help="The number of samples. Default: 1000, and 10000 for randomization.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the samples.")] = 12345,
    lowercase: LowercaseOption = False,
    tokenize: TokenizeOption = None,
    stem: StemOption = None,
    synonyms: SynonymsOption = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with example sentences.")] = None,
    sentence_metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The metric of single sentences on that page. Default: chrf.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="The number of sentences of each kind on that page. Default: 10.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare systems on the same lines: scores, confidence intervals, significance, and where they differ."""
    from weft.core.files import check_output_file
    from weft.data.text_files import read_lines
    from weft.metrics.comparison import Comparison, ComparisonSettings, compare_systems
    from weft.metrics.references import read_comparison_data
    from weft.metrics.score_report import comparison_to_json, format_comparison
    from weft.metrics.significance import BOOTSTRAP_SAMPLES, RANDOMIZATION_TRIALS
    from weft.visualize.comparison_page import write_comparison_page

    for option, value in (("--sentence-metric", sentence_metric), ("--sentences", sentences)):
        if value is not None and html is None:
            raise UserError(f"{option} only affects the page of --html: add --html FILE, or omit {option}.")
    inputs = [references, *(reference or []), *systems, source, train, synonyms]
    check_output_file(html, [file for file in inputs if file is not None])
    metrics, sentence_metric = metric or ["bleu", "chrf", "ter"], sentence_metric or "chrf"
    options = parse_metric_options([*metrics, sentence_metric], lowercase, tokenize, stem, synonyms)
    settings = ComparisonSettings(
        metrics, options, test, samples or BOOTSTRAP_SAMPLES, samples or RANDOMIZATION_TRIALS, seed
    )
    data = read_comparison_data([references, *(reference or [])], systems, source)

    def run_comparison() -> Comparison:
        return compare_systems(data, settings, None if train is None else read_lines(train))

    if html is None:
        comparison = run_comparison()
    else:
        comparison = write_comparison_page(run_comparison, html, sentence_metric, sentences or 10)
    print(comparison_to_json(comparison) if json else format_comparison(comparison))
