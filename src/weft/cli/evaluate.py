"""`weft evaluate`, `weft compare` and `weft edit-distance`: compare outputs with references."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from weft.cli.options import BeamOption, DeviceOption, JsonOption, SetOption, refuse_options, require_option
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.metrics.scores import MetricOptions, MetricScore

MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        help="bleu, chrf, ter, meteor, exact, wer, cer, per, repetition, copy, numbers, addresses. Repeatable."
    ),
]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
TokenizeOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The sacrebleu tokenizer, such as intl, zh or char. Default: 13a.")
]
StemOption = Annotated[
    str | None, typer.Option(metavar="LANGUAGE", help="The stemmer of METEOR, such as german. Default: porter.")
]
SynonymsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Synonyms for METEOR, a set of words per line.")
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
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the translations to this file.")] = None,
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
    from weft.core.files import similar_path
    from weft.inference.language_model import is_single_text
    from weft.metrics.score_report import format_scores, scores_to_json

    if not system.exists():
        raise UserError(f"{system}: there is no such file or folder{similar_path(system)}")
    metrics = MetricArguments(metric, lowercase, tokenize, stem, synonyms)
    search = SearchArguments(output, beam, settings, device)
    if not system.is_dir():
        scores = _score_translations(system, files, metrics, search)
    elif is_single_text(files):
        scores = _score_language_model(system, files[0], metrics, search)
    else:
        scores = _score_model(system, files, metrics, search)
    print(scores_to_json(scores) if json else format_scores(scores))


class MetricArguments(NamedTuple):
    """The options of a command that say how outputs are scored, as given."""

    names: Sequence[str] | None = None
    lowercase: bool = False
    tokenize: str | None = None
    stem: str | None = None
    synonyms: Path | None = None

    def by_option(self) -> dict[str, object]:
        return dict(zip(("--metric", "--lowercase", "--tokenize", "--stem", "--synonyms"), self, strict=True))

    def parse(self, metrics: Sequence[str]) -> "MetricOptions":
        """Return the metric options; raise UserError if they do not fit the metrics."""
        from weft.metrics.corpus_metrics import METRICS, check_metrics
        from weft.metrics.meteor import read_synonyms
        from weft.metrics.scores import DEFAULT_OPTIONS, NO_SYNONYMS, MetricOptions

        require_option("--metric meteor", "meteor" in metrics, {"--stem": self.stem, "--synonyms": self.synonyms})
        options = MetricOptions(
            lowercase=self.lowercase,
            tokenize=self.tokenize or DEFAULT_OPTIONS.tokenize,
            stem=self.stem or DEFAULT_OPTIONS.stem,
            synonyms=NO_SYNONYMS if self.synonyms is None else read_synonyms(self.synonyms),
        )
        check_metrics(metrics, options)
        if self.tokenize is not None and not any(METRICS[name].uses_tokenizer for name in metrics):
            names = ", ".join(name for name, metric in METRICS.items() if metric.uses_tokenizer)
            raise UserError(f"--tokenize only affects {names}: add one of them with --metric, or omit --tokenize.")
        return options

    def for_evaluation(self) -> "tuple[Sequence[str], MetricOptions]":
        """Return the metrics of `weft evaluate` and their options."""
        from weft.metrics.corpus_metrics import DEFAULT_METRICS

        metrics = self.names or DEFAULT_METRICS
        return metrics, self.parse(metrics)


class SearchArguments(NamedTuple):
    """The options of `weft evaluate` that say how a model translates, as given."""

    output: Path | None
    beam: int | None
    settings: list[str] | None
    device: str

    def by_option(self) -> dict[str, object]:
        return {"--output": self.output, "--beam": self.beam, "--set": self.settings}


def _score_language_model(
    model: Path, text: Path, metrics: MetricArguments, search: SearchArguments
) -> "list[MetricScore]":
    from weft.inference.language_model import evaluate_perplexity, load_for_perplexity

    trained = load_for_perplexity(text, model, search.device)
    situation = f"{model} is a language model, scored by its perplexity"
    refuse_options(situation, {**metrics.by_option(), **search.by_option()}, "for translations")
    return evaluate_perplexity(trained, text)


def _score_model(
    model: Path, files: Sequence[Path], metrics: MetricArguments, search: SearchArguments
) -> "list[MetricScore]":
    from weft.core.files import check_output_file
    from weft.inference.evaluation import evaluate_model, read_examples
    from weft.inference.loader import load_translator

    names, options = metrics.for_evaluation()
    check_output_file(search.output, [*files, *([metrics.synonyms] if metrics.synonyms else [])])
    examples = read_examples(files)
    translator = load_translator(model, device=search.device, beam=search.beam, overrides=search.settings or [])
    return evaluate_model(translator, examples, names, options, search.output)


def _score_translations(
    translations: Path, references: Sequence[Path], metrics: MetricArguments, search: SearchArguments
) -> "list[MetricScore]":
    from weft.inference.evaluation import evaluate_file

    names, options = metrics.for_evaluation()
    model_options = {**search.by_option(), "--device": search.device != "auto"}
    refuse_options(f"{translations} is a file of translations", model_options, "for a model")
    return evaluate_file(translations, references, names, options)


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
    seed: Annotated[int | None, typer.Option(min=0, help="The seed of the samples. Default: 12345.")] = None,
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
    from weft.metrics.comparison import DEFAULT_COMPARISON, Comparison, ComparisonSettings, compare_systems
    from weft.metrics.references import read_comparison_data
    from weft.metrics.score_report import comparison_to_json, format_comparison
    from weft.visualize.comparison_page import SENTENCE_METRIC, SENTENCES_PER_KIND, write_comparison_page

    require_option("--html FILE", html, {"--sentence-metric": sentence_metric, "--sentences": sentences})
    inputs = [references, *(reference or []), *systems, source, train, synonyms]
    check_output_file(html, [file for file in inputs if file is not None])
    metrics, sentence_metric = metric or DEFAULT_COMPARISON.metrics, sentence_metric or SENTENCE_METRIC
    settings = ComparisonSettings(
        metrics,
        MetricArguments(metric, lowercase, tokenize, stem, synonyms).parse([*metrics, sentence_metric]),
        test,
        samples or DEFAULT_COMPARISON.samples,
        samples or DEFAULT_COMPARISON.trials,
        DEFAULT_COMPARISON.seed if seed is None else seed,
    )
    data = read_comparison_data([references, *(reference or [])], systems, source)

    def run_comparison() -> Comparison:  # a function, so that a page that cannot be written is reported first
        return compare_systems(data, settings, None if train is None else read_lines(train))

    if html is None:
        comparison = run_comparison()
    else:
        comparison = write_comparison_page(run_comparison, html, sentence_metric, sentences or SENTENCES_PER_KIND)
    print(comparison_to_json(comparison) if json else format_comparison(comparison))


def edit_distance(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The string to edit, in quotation marks.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The result of the edits.")],
    insert: Annotated[float, typer.Option(min=0.0, help="The cost of an insertion.")] = 1.0,
    delete: Annotated[float, typer.Option(min=0.0, help="The cost of a deletion.")] = 1.0,
    substitute: Annotated[float, typer.Option(min=0.0, help="The cost of a substitution.")] = 1.0,
    words: Annotated[bool, typer.Option("--words", help="Edit words instead of characters.")] = False,
) -> None:
    """Show the edit distance between two strings: the table, the cheapest path through it, and the edits."""
    from weft.metrics.edit_distance import EditCosts, format_edit_table

    units, other = (source.split(), target.split()) if words else (list(source), list(target))
    print(format_edit_table(units, other, EditCosts(insert, delete, substitute)))
