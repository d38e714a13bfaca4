"""Check a recipe before any data is read: settings that are valid one by one but contradict each other, files that
cannot be read, models that do not fit (compatibility.py). All problems are reported at once.
"""

from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.core.errors import ConfigError, ConfigProblem
from weft.data.pair_files import require_matching_files
from weft.metrics.corpus_metrics import METRICS
from weft.text.text_config import codec_trainers, source_modality
from weft.training.compatibility import collect_problems, model_problems
from weft.training.distributed import RankGroup
from weft.training.log_writer import check_tensorboard
from weft.training.mixed_precision import check_precision
from weft.training.time_budget import UNKNOWN_STEPS
from weft.training.validation import LOSS_METRICS
from weft.training.warm_start import check_initial_model, check_optimizer_state

MISSING_FILE_ADVICE = {
    "train": "",
    "valid": ". To validate on a tenth of the training data instead: data.valid=[] data.validation_fraction=0.1",
    "test": ". To do without: data.test=[]",
}


def check_recipe(recipe: Recipe, ranks: RankGroup | None = None, *, resumes: bool = False) -> None:
    """Raise ConfigError with every problem.

    ranks: the processes that train, if they are known. resumes: the run has started, so its initial model may be gone.
    """
    problems = [
        *_data_problems(recipe),
        *_length_problems(recipe),
        *collect_problems("text", lambda: codec_trainers(recipe.text)),
        *_modality_problems(recipe),
        *model_problems(recipe),
        *_validation_problems(recipe),
        *collect_problems("train.validation.search", recipe.train.validation.search),
        *collect_problems("translate.search", recipe.translate.search),
    ]
    if ranks is not None:
        problems += _distributed_problems(recipe) if ranks.world_size > 1 else ()
        problems += collect_problems("train.precision", lambda: check_precision(recipe, ranks))
        problems += collect_problems("train.tensorboard", lambda: check_tensorboard(recipe, ranks))
    if not resumes:
        problems += collect_problems("train.initial_model", lambda: check_initial_model(recipe))
        problems += collect_problems("train.keep_optimizer", lambda: check_optimizer_state(recipe))
    if problems:
        raise ConfigError(problems)


def _data_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    data = recipe.data
    files = "one text file" if data.monolingual else "two text files, or one .tsv or .jsonl"
    if not data.train and not data.mix:
        yield ConfigProblem("data.train", f"names no files: give {files}")
    if data.train and data.mix:
        text = "names the training data, and so does data.train: put all of it into the mix, and write train: []"
        yield ConfigProblem("data.mix", text)
    for number, corpus in enumerate(data.mix):
        if not corpus.files:
            yield ConfigProblem(f"data.mix.{number}.files", f"names no files: give {files}")
    if data.validation_fraction and data.valid:
        text = "holds out pairs for validation, but data.valid names files: omit one of them"
        yield ConfigProblem("data.validation_fraction", text)


def _length_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    settings = recipe.train
    if settings.steps is None and settings.minutes is None:
        yield ConfigProblem("train.steps", "is null, and so is train.minutes: give one of the two")
    elif settings.steps is not None and settings.minutes is not None:
        text = "is set, and so is train.steps: write train.steps=null for a time budget, or set this to null"
        yield ConfigProblem("train.minutes", text)
    if settings.minutes is not None and settings.schedule(UNKNOWN_STEPS).open_fraction == 0.0:
        text = (
            "needs the number of steps from the start, but a time budget fixes it only after a while: use "
            "warmup-stable-decay or inverse-square-root, or give train.steps"
        )
        yield ConfigProblem("train.schedule", text)


def _modality_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    """Yield what does not fit a language model, or a source of images."""
    if recipe.data.monolingual and not recipe.text.joint:
        yield ConfigProblem("text.joint", "false, but data.monolingual has one side only: write joint: true")
    if recipe.data.monolingual and recipe.train.validation.lines:
        text = "a language model translates no lines: write 0, and train.validation.best_metric: perplexity"
        yield ConfigProblem("train.validation.lines", text)
    source, target = (to_dict(make, REGISTRY)["type"] for make in (recipe.model.source, recipe.model.target))
    reads_images, pixels = source_modality(recipe.text) == "image", source == "pixels"
    if reads_images and not pixels:
        yield ConfigProblem("model.source", "embeds text, but text.source reads images: write the type pixels")
    elif pixels and not reads_images:
        text = "pixels, but text.source is text: write text.source: image, or the type tokens"
        yield ConfigProblem("model.source", text)
    if target == "pixels":
        yield ConfigProblem("model.target", "pixels, but images can only be a source: write the type tokens")


def _validation_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    settings = recipe.train.validation
    for name in settings.metrics:
        if name not in METRICS:
            text = f"unknown metric {name!r}: use one of {', '.join(METRICS)}"
            yield ConfigProblem("train.validation.metrics", text)
    measured = (*LOSS_METRICS, *(settings.metrics if settings.lines else ()))
    if settings.best_metric not in measured:
        text = f"{settings.best_metric!r} is not measured: choose from {', '.join(measured)}"
        yield ConfigProblem("train.validation.best_metric", text)
    if settings.patience is not None and not (recipe.data.valid or recipe.data.validation_fraction):
        yield ConfigProblem("train.validation.patience", "there is no validation data: name files in data.valid")


def _distributed_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    """Yield what several processes do not support.

    FSDP gathers a layer whenever it is entered: all ranks must do so equally often, or they would wait forever.
    """
    for name in ("source", "target", "head"):
        if to_dict(recipe.model, REGISTRY)[name].get("sparse"):
            text = "true, but sparse gradients need a single process: write false, or start without torchrun"
            yield ConfigProblem(f"model.{name}.sparse", text)
    objective = to_dict(recipe.objective, REGISTRY)
    inputs = objective.get("decoder_input", {})
    stepwise = inputs.get("type") == "free-running" or inputs.get("method") == "stepwise"
    if recipe.train.parallel == "fsdp" and (stepwise or objective["type"] == "minimum-risk"):
        text = "fsdp, but with this objective the model generates token by token, a different number in each process"
        yield ConfigProblem("train.parallel", f"{text}: write ddp")


def check_data_files(recipe: Recipe, generated: Collection[Path] = ()) -> None:
    """Raise ConfigError with every data file that cannot be read. generated: files that do not exist yet."""
    problems = []
    for name, corpora in recipe.data.files().items():
        for path in (path for files in corpora for path in files if path not in generated):
            for place, text in collect_problems(f"data.{name}", partial(require_matching_files, path)):
                problems.append(ConfigProblem(place, text + MISSING_FILE_ADVICE[name]))
    if problems:
        raise ConfigError(problems)
