"""Weft: sequence-to-sequence models that you can train on a laptop, inspect and serve.

weft.train(["train.en", "train.de"], out="runs/x", minutes=30)
weft.load("runs/x").translate("A man sleeps.").text
weft.evaluate("runs/x", "test.tsv")["bleu"].value
weft.compare("test.tsv", ["runs/x", "runs/y"])
weft.finetune("runs/x", ["new.en", "new.de"], out="runs/y", mix=1)
weft.load(["runs/x", "runs/y"])  # an ensemble
weft.load_language_model("runs/lm").complete("A man")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.config.yaml_files import PlainData
    from weft.inference.ensemble import EnsembleMean
    from weft.inference.language_model import Completer
    from weft.inference.scoring import ScoredPair
    from weft.inference.translator import Translator
    from weft.metrics.comparison import Comparison
    from weft.metrics.scores import ScoresByName
    from weft.metrics.significance import SignificanceTest
    from weft.models.model import Slot

    PathOrPaths = str | Path | Sequence[str | Path]

__all__ = ["compare", "evaluate", "finetune", "load", "load_language_model", "report", "score", "train"]


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("weft")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def train(
    recipe_or_files: str | Path | Sequence[str | Path] | dict[str, PlainData],
    *,
    out: str | Path,
    minutes: float | None = None,
    languages: str | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Train a model, and return the run folder.

    recipe_or_files: a recipe (a YAML file, or its content as a dict), or data files for which a recipe is chosen: two
    text files, one .tsv or another table or document with both languages. languages: codes of source and target, such
    as "en:de" (None: from file names, or the text). overrides: settings to change, such as "model.encoder.layers=6".

    Ctrl-C saves a checkpoint, then raises KeyboardInterrupt.
    """
    from weft.core.arguments import (
        MIN_MINUTES,
        check_device,
        check_number,
        check_path,
        check_paths,
        check_strings,
        check_type,
        parameter_name,
    )

    folder, settings = check_path("out", out), check_strings("overrides", overrides)
    check_number("minutes", minutes, MIN_MINUTES)
    source: Sequence[str] | dict[str, PlainData]
    if isinstance(recipe_or_files, dict):
        source = recipe_or_files
    else:
        source = [str(name) for name in check_paths("recipe_or_files", recipe_or_files)]
    check_device(device)
    if languages is not None:
        from weft.data.languages import language_setting

        check_type("languages", languages, (str,), "str")
        settings = [*settings, language_setting(languages, settings, parameter_name)]

    from weft.training.progress import open_display
    from weft.training.training_run import start_training

    with open_display() as display:
        outcome = start_training(source, folder, display, settings=settings, minutes=minutes, device=device)
    if outcome == "interrupted":
        raise KeyboardInterrupt
    return folder


def finetune(
    model: str | Path,
    files: PathOrPaths,
    *,
    out: str | Path,
    mix: float = 0.0,
    freeze: Sequence[Slot] = (),
    extend: int | None = None,
    keep_optimizer: bool = False,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Fine-tune the model in a run or model folder on new data, and return the new run folder.

    mix: original pairs per new pair. freeze: slots whose weights do not change. extend: at most this many new tokens
    (None: unknown letters and words only). Scores before and after are in the folder's finetuning_scores.json.

    Ctrl-C saves a checkpoint, then raises KeyboardInterrupt; the same call resumes.
    """
    from weft.core import arguments

    path, folder_path = arguments.check_path("model", model), arguments.check_path("out", out)
    names = [str(file) for file in arguments.check_paths("files", files)]
    settings = tuple(arguments.check_strings("overrides", overrides))
    slots = arguments.check_strings("freeze", freeze)
    arguments.check_type("mix", mix, (int, float), "a number")
    arguments.check_number("mix", mix, 0)
    arguments.check_integer("extend", extend, 0)
    arguments.check_number("minutes", minutes, arguments.MIN_MINUTES)
    arguments.check_type("keep_optimizer", keep_optimizer, (bool,), "bool")
    arguments.check_device(device)

    from weft.models.model import SLOTS
    from weft.training.finetuning import FinetuningFolder, compare_before_and_after
    from weft.training.finetuning import finetune as tune
    from weft.training.finetuning_recipe import FinetuningOptions
    from weft.training.progress import open_display

    for number, slot in enumerate(slots):
        arguments.check_choice(f"freeze[{number}]", slot, SLOTS)
    folder = FinetuningFolder(folder_path)
    options = FinetuningOptions(mix, tuple(freeze), extend, keep_optimizer, settings, minutes)
    with open_display() as display:
        if tune(path, names, folder, display, options, device) == "interrupted":
            raise KeyboardInterrupt
        compare_before_and_after(folder, display, device)
    return folder_path


def load(
    path: PathOrPaths,
    *,
    weights: Sequence[float] | None = None,
    mean: EnsembleMean = "probabilities",
    beam: int | None = None,
    n_best: int | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Translator:
    """Load the model in a run or model folder for translation, or the models in several folders as an ensemble.

    An ensemble uses the search of its first model. weights: of the models (None: all equal). mean: what is averaged at
    each step. overrides: decoding settings, such as "translate.word_list=words.txt".
    """
    from weft.core import arguments
    from weft.core.errors import UserError

    paths = arguments.check_paths("path", path)
    if not paths:
        raise UserError("path: there is no folder: give the folder of a model, or of several")
    arguments.check_integer("beam", beam, 1)
    arguments.check_integer("n_best", n_best, 1)
    arguments.check_choice("mean", mean, ("probabilities", "log-probabilities"))
    settings = arguments.check_decoding_overrides(overrides)
    if weights is not None:
        arguments.check_numbers("weights", weights)
    arguments.check_device(device)

    from weft.inference.ensemble import EnsembleOptions
    from weft.inference.loader import load_translator

    ensemble = EnsembleOptions(tuple(paths[1:]), None if weights is None else tuple(weights), mean)
    return load_translator(paths[0], device=device, beam=beam, n_best=n_best, overrides=settings, ensemble=ensemble)


def load_language_model(
    path: str | Path, *, samples: int = 1, temperature: float = 1.0, seed: int = 1, device: str = "auto"
) -> Completer:
    """Load the language model in a run or model folder, which completes lines with `samples` samples each."""
    from weft.core import arguments

    folder = arguments.check_path("path", path)
    arguments.check_type("samples", samples, (int,), "int")
    arguments.check_integer("samples", samples, 1)
    arguments.check_type("temperature", temperature, (int, float), "a number")
    arguments.check_number("temperature", temperature, 0.0001)
    arguments.check_type("seed", seed, (int,), "int")
    arguments.check_device(device)

    from weft.inference.language_model import load_language_model as load_trained
    from weft.inference.language_model import sampling_completer

    return sampling_completer(load_trained(folder, device), samples, temperature, seed)


def evaluate(
    system: str | Path,
    files: PathOrPaths,
    *,
    metrics: Sequence[str] | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    stem: str | None = None,
    synonyms: str | Path | None = None,
    beam: int | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> ScoresByName:
    """Score a model, or a file of translations, and return the scores by metric, with intervals and signatures.

    files: for a model, the source and its references, or one .tsv with both; for a file of translations, the
    references; for a language model, one text, of which the perplexity is computed.
    """
    from weft.core import arguments

    path, inputs = arguments.check_path("system", system), arguments.check_paths("files", files)
    names = None if metrics is None else arguments.check_strings("metrics", metrics)
    arguments.check_type("lowercase", lowercase, (bool,), "bool")
    synonyms_file = None if synonyms is None else arguments.check_path("synonyms", synonyms)
    arguments.check_integer("beam", beam, 1)
    settings = arguments.check_decoding_overrides(overrides)
    arguments.check_device(device)

    from weft.inference.system_scores import MetricArguments, SearchArguments, evaluate_system
    from weft.metrics.scores import ScoresByName

    options = MetricArguments(names, lowercase, tokenize, stem, synonyms_file)
    search = SearchArguments(beam, settings, device)
    return ScoresByName(evaluate_system(path, inputs, options, search, arguments.parameter_name))


def compare(
    references: PathOrPaths,
    systems: Sequence[str | Path],
    *,
    source: str | Path | None = None,
    train: str | Path | None = None,
    metrics: Sequence[str] | None = None,
    test: SignificanceTest = "randomization",
    samples: int | None = None,
    seed: int | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    stem: str | None = None,
    synonyms: str | Path | None = None,
    beam: int | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Comparison:
    """Compare models, or files of their translations, with the first of them, by several metrics with significance.

    references: reference files, or a .tsv with sources and references. source: the text that models translate, unless
    the .tsv has it. train: training text in the target language, for scores by word frequency.
    """
    from weft.core import arguments

    inputs, named = arguments.check_paths("references", references), arguments.check_paths("systems", systems)
    others = [
        None if one is None else arguments.check_path(name, one)
        for name, one in (("source", source), ("train", train), ("synonyms", synonyms))
    ]
    chosen = None if metrics is None else arguments.check_strings("metrics", metrics)
    arguments.check_choice("test", test, ("bootstrap", "randomization"))
    arguments.check_integer("samples", samples, 100)
    arguments.check_integer("seed", seed, 0)
    arguments.check_type("lowercase", lowercase, (bool,), "bool")
    arguments.check_integer("beam", beam, 1)
    settings = arguments.check_decoding_overrides(overrides)
    arguments.check_device(device)

    from weft.inference.system_scores import ComparisonFiles, MetricArguments, SearchArguments, prepare_comparison
    from weft.metrics.comparison import DEFAULT_COMPARISON, ComparisonSettings

    names, option = chosen or DEFAULT_COMPARISON.metrics, arguments.parameter_name
    options = MetricArguments(chosen, lowercase, tokenize, stem, others[2]).parse(names, option)
    files = ComparisonFiles(inputs, named, others[0], others[1])
    comparison = ComparisonSettings.with_samples(names, options, test, samples, seed)
    return prepare_comparison(files, comparison, SearchArguments(beam, settings, device), option)()


def score(model: str | Path, files: PathOrPaths, *, device: str = "auto") -> list[ScoredPair]:
    """Return the log-probability of each line of existing translations, with its tokens and perplexity.

    files: the source and its target, or one .tsv or .jsonl; for a language model, one text.
    """
    from weft.core.arguments import check_device, check_path, check_paths

    path, inputs = check_path("model", model), check_paths("files", files)
    check_device(device)

    from weft.inference.scoring import load_scorer, read_scored_pairs

    scorer = load_scorer(path, device)
    return list(scorer.stream(read_scored_pairs(scorer, inputs)))


def report(
    run: str | Path,
    *,
    output: str | Path = "report.html",
    test: bool = False,
    max_lines: int = 1000,
    sentences: int = 4,
    device: str = "auto",
) -> Path:
    """Write a page about a training run, and return its path. test: evaluate on the test data, not the validation data.

    max_lines: translate and score at most this many lines. sentences: the number of examples of each kind.
    """
    from weft.core import arguments

    folder, page = arguments.check_path("run", run), arguments.check_path("output", output)
    arguments.check_type("test", test, (bool,), "bool")
    for name, value in (("max_lines", max_lines), ("sentences", sentences)):
        arguments.check_type(name, value, (int,), "int")
        arguments.check_integer(name, value, 1)
    arguments.check_device(device)

    from weft.visualize.run_evaluation import ReportOptions
    from weft.visualize.run_report import report_run

    report_run(folder, page, ReportOptions(test, max_lines, sentences, device))
    return page
