"""`weft evaluate`, `weft compare` and `weft edit-distance`: compare outputs with references."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import (
    OUTPUT_PANEL,
    BeamOption,
    DeviceOption,
    JsonOption,
    OutputOption,
    SetOption,
    print_result,
    require_option,
)

METRIC_PANEL = "Metric options"

MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=METRIC_PANEL,
        help="bleu, chrf, ter, meteor, exact, wer, cer, per, repetition, copy, numbers, addresses. Repeatable.",
    ),
]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", rich_help_panel=METRIC_PANEL, help="Ignore case.")]
TokenizeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=METRIC_PANEL,
        help="The sacrebleu tokenizer, such as intl, zh or char. Default: 13a, or by a model's target.",
    ),
]
StemOption = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        rich_help_panel=METRIC_PANEL,
        help="The stemmer of METEOR, such as german. Default: porter, or by a model's target.",
    ),
]
SynonymsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=METRIC_PANEL, help="Synonyms for METEOR, a set of words per line."),
]


def evaluate(
    system: Annotated[Path, typer.Argument(metavar="MODEL|TRANSLATIONS", help="A model, or a file of translations.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="For a model: the source, then its references. For translations: the references. For both, one .tsv "
            "with the source in the first column and its references in the others. For a language model: a text.",
        ),
    ],
    metric: MetricOption = None,
    lowercase: LowercaseOption = False,
    tokenize: TokenizeOption = None,
    stem: StemOption = None,
    synonyms: SynonymsOption = None,
    json: JsonOption = False,
    output: OutputOption = None,
    translations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="Also write the translations of the model to this file."
        ),
    ] = None,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Score a model or a file of translations against one or more references, or a language model on a text.

    \b
    weft evaluate MODEL TEST.tsv
    weft evaluate MODEL SOURCE REFERENCE...
    weft evaluate TRANSLATIONS REFERENCE...
    weft evaluate LANGUAGE_MODEL TEXT
    """
    from weft.core.files import check_output_files, check_result_file
    from weft.inference.system_scores import MetricArguments, SearchArguments, evaluate_system
    from weft.metrics.score_report import format_scores, scores_to_json

    inputs = [*files, synonyms, None if system.is_dir() else system]
    check_result_file(output, [path for path in inputs if path is not None])
    check_output_files([output, translations], [path for path in inputs if path is not None])
    metrics = MetricArguments(metric, lowercase, tokenize, stem, synonyms)
    scores = evaluate_system(system, files, metrics, SearchArguments(beam, settings, device, translations))
    print_result(scores_to_json(scores) if json else format_scores(scores), output)


def compare(
    references: Annotated[
        Path, typer.Argument(metavar="REFERENCES", help="A file of references, or a .tsv with sources and references.")
    ],
    systems: Annotated[
        list[Path],
        typer.Argument(metavar="SYSTEM", help="Models, or files of translations; compared with the first."),
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
        Literal["bootstrap", "randomization"],
        typer.Option(rich_help_panel=METRIC_PANEL, help="The significance test of differences."),
    ] = "randomization",
    samples: Annotated[
        int | None,
        typer.Option(
            min=100,
            rich_help_panel=METRIC_PANEL,
            help="The number of samples. Default: 1000, and 10000 for randomization.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=METRIC_PANEL, help="The seed of the samples. Default: 12345.")
    ] = None,
    lowercase: LowercaseOption = False,
    tokenize: TokenizeOption = None,
    stem: StemOption = None,
    synonyms: SynonymsOption = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="Write a page with example sentences."),
    ] = None,
    sentence_metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            rich_help_panel=OUTPUT_PANEL,
            help="The metric of single sentences on that page. Default: chrf.",
        ),
    ] = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=OUTPUT_PANEL, help="The number of sentences of each kind on that page. Default: 10."
        ),
    ] = None,
    json: JsonOption = False,
    output: OutputOption = None,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Compare models or their outputs on the same lines: scores, significance, and where they differ.

    \b
    weft compare TEST.tsv MODEL MODEL
    weft compare REFERENCES MODEL TRANSLATIONS --source FILE
    weft compare REFERENCES TRANSLATIONS TRANSLATIONS
    """
    from weft.core.files import check_output_files, check_result_file
    from weft.inference.system_scores import ComparisonFiles, MetricArguments, SearchArguments, prepare_comparison
    from weft.metrics.comparison import DEFAULT_COMPARISON, ComparisonSettings
    from weft.metrics.score_report import comparison_to_json, format_comparison
    from weft.visualize.comparison_page import SENTENCE_METRIC, SENTENCES_PER_KIND, write_comparison_page

    require_option("--html FILE", html, {"--sentence-metric": sentence_metric, "--sentences": sentences})
    files = ComparisonFiles([references, *(reference or [])], systems, source, train)
    check_result_file(output, files.inputs())
    check_output_files([output, html], [*files.inputs(), *([] if synonyms is None else [synonyms])])
    metrics, sentence_metric = metric or DEFAULT_COMPARISON.metrics, sentence_metric or SENTENCE_METRIC
    options = MetricArguments(metric, lowercase, tokenize, stem, synonyms).parse([*metrics, sentence_metric])
    comparison_settings = ComparisonSettings.with_samples(metrics, options, test, samples, seed)
    run_comparison = prepare_comparison(files, comparison_settings, SearchArguments(beam, settings, device))
    if html is None:
        comparison = run_comparison()
    else:  # a page that cannot be written is reported before the comparison
        comparison = write_comparison_page(run_comparison, html, sentence_metric, sentences or SENTENCES_PER_KIND)
    print_result(comparison_to_json(comparison) if json else format_comparison(comparison), output)


def edit_distance(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The string to edit, in quotation marks.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The result of the edits.")],
    insert: Annotated[float, typer.Option(min=0.0, help="The cost of an insertion.")] = 1.0,
    delete: Annotated[float, typer.Option(min=0.0, help="The cost of a deletion.")] = 1.0,
    substitute: Annotated[float, typer.Option(min=0.0, help="The cost of a substitution.")] = 1.0,
    words: Annotated[bool, typer.Option("--words", help="Edit words instead of characters.")] = False,
    output: OutputOption = None,
) -> None:
    """Show the edit distance between two strings: the table, the cheapest path through it, and the edits."""
    from weft.metrics.edit_distance import EditCosts, format_edit_table

    units, other = (source.split(), target.split()) if words else (list(source), list(target))
    print_result(format_edit_table(units, other, EditCosts(insert, delete, substitute)), output)
