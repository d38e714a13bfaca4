"""Scores of systems, each a model or a file of its outputs: what `weft evaluate`, `weft compare` and Python share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from weft.core.arguments import OptionName, flag_name, refuse_options, require_option
from weft.core.errors import UserError
from weft.core.files import check_output_file, similar_path
from weft.data.text_files import read_lines
from weft.inference.evaluation import evaluate_file, evaluate_model, read_examples, translate_examples
from weft.inference.language_model import evaluate_perplexity, is_single_text, load_for_perplexity
from weft.inference.loader import load_translator
from weft.metrics.comparison import Comparison, ComparisonSettings, compare_systems
from weft.metrics.corpus_metrics import DEFAULT_METRICS, METRICS, check_metrics, language_options
from weft.metrics.meteor import read_synonyms
from weft.metrics.references import EvaluationSet, read_comparison_data
from weft.metrics.scores import DEFAULT_OPTIONS, NO_SYNONYMS, MetricOptions, MetricScore


class MetricArguments(NamedTuple):
    """How outputs are scored, as given by a user."""

    metric: Sequence[str] | None = None
    lowercase: bool = False
    tokenize: str | None = None
    stem: str | None = None
    synonyms: Path | None = None

    def parse(self, metrics: Sequence[str], option: OptionName = flag_name) -> MetricOptions:
        """Return the metric options; raise UserError if they do not fit the metrics."""
        meteor = {option("stem"): self.stem, option("synonyms"): self.synonyms}
        require_option(f"{option('metric')} meteor", "meteor" in metrics, meteor)
        options = MetricOptions(
            lowercase=self.lowercase,
            tokenize=self.tokenize or DEFAULT_OPTIONS.tokenize,
            stem=self.stem or DEFAULT_OPTIONS.stem,
            synonyms=NO_SYNONYMS if self.synonyms is None else read_synonyms(self.synonyms),
        )
        check_metrics(metrics, options)
        if self.tokenize is not None and not any(METRICS[name].uses_tokenizer for name in metrics):
            names = ", ".join(name for name, metric in METRICS.items() if metric.uses_tokenizer)
            name = option("tokenize")
            raise UserError(f"{name} only affects {names}: add one of them with {option('metric')}, or omit {name}.")
        return options

    def for_model(self, options: MetricOptions, languages: Sequence[str]) -> MetricOptions:
        """Return the options for the languages of a model, where the user left a choice."""
        suitable = language_options(languages)
        return replace(options, tokenize=self.tokenize or suitable.tokenize, stem=self.stem or suitable.stem)

    def for_evaluation(self, option: OptionName = flag_name) -> tuple[Sequence[str], MetricOptions]:
        """Return the metrics of an evaluation and their options."""
        metrics = self.metric or DEFAULT_METRICS
        return metrics, self.parse(metrics, option)


class SearchArguments(NamedTuple):
    """How models translate, as given by a user. translations: the file to write their outputs to."""

    beam: int | None = None
    set: Sequence[str] | None = None
    device: str = "auto"
    translations: Path | None = None

    def refuse(self, situation: str, purpose: str, option: OptionName) -> None:
        """Raise UserError if anything is set."""
        given = self._replace(device="" if self.device == "auto" else self.device)._asdict()
        refuse_options(situation, {option(name): value for name, value in given.items()}, purpose)


def evaluate_system(
    system: Path,
    files: Sequence[Path],
    metrics: MetricArguments,
    search: SearchArguments,
    option: OptionName = flag_name,
) -> list[MetricScore]:
    """Score a model on a source with references, a language model on a text, or a file of outputs.

    option: how messages name options.
    """
    if not system.exists():
        raise UserError(f"{system}: there is no such file or folder{similar_path(system)}")
    if not system.is_dir():
        names, options = metrics.for_evaluation(option)
        search.refuse(f"{system} is a file of translations", "for a model", option)
        return evaluate_file(system, files, names, options)
    if is_single_text(files):
        trained = load_for_perplexity(files[0], system, search.device)
        situation = f"{system} is a language model, scored by its perplexity"
        refuse_options(
            situation, {option(name): value for name, value in metrics._asdict().items()}, "for translations"
        )
        search._replace(device="auto").refuse(situation, "for translations", option)
        return evaluate_perplexity(trained, files[0])
    names, options = metrics.for_evaluation(option)
    check_output_file(search.translations, [*files, *([metrics.synonyms] if metrics.synonyms else [])])
    examples = read_examples(files)
    translator = load_translator(system, device=search.device, beam=search.beam, overrides=search.set or ())
    options = metrics.for_model(options, translator.trained.recipe.data.languages)
    return evaluate_model(translator, examples, names, options, search.translations)


class ComparisonFiles(NamedTuple):
    """What is compared: model folders and files of outputs, with references, and maybe sources and training text."""

    references: Sequence[Path]
    systems: Sequence[Path]
    source: Path | None = None
    train: Path | None = None

    def inputs(self) -> list[Path]:
        named = [*self.references, *self.systems, self.source, self.train]
        return [path for path in named if path is not None]


def prepare_comparison(
    files: ComparisonFiles,
    settings: ComparisonSettings,
    search: SearchArguments,
    option: OptionName = flag_name,
) -> Callable[[], Comparison]:
    """Read the files, and return the function that translates with each model and compares all systems."""
    models = [path for path in files.systems if path.is_dir()]
    if not models:
        search.refuse("All systems are files of translations", "for models", option)

    def translate(model: Path, examples: EvaluationSet) -> list[str]:
        translator = load_translator(model, device=search.device, beam=search.beam, overrides=search.set or ())
        return [translation.text for translation in translate_examples(translator, examples, f"translating: {model}")]

    read = read_comparison_data(files.references, files.systems, files.source, translate, option("source"))
    return lambda: compare_systems(read(), settings, None if files.train is None else read_lines(files.train))
