"""What can be wrong in a recipe though every name and type is right: told before any data is read."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Never

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError, Problem, UserError
from weft.core.marks import NAMES
from weft.core.memory import installed_memory
from weft.data.shards import require_matching
from weft.metric.evaluate import METRICS
from weft.model.build import build, parameters
from weft.model.freezing import freeze, learning, weights_in
from weft.model.model import Model
from weft.objective.role import Given
from weft.store.model_folder import recipe_of
from weft.store.sizes import without_numbers
from weft.text.settings import learners, reads
from weft.training.budget import ENDLESS
from weft.training.given import check_steps, looks
from weft.training.initial import check_moments, check_start
from weft.training.matching import mismatches
from weft.training.ranks import Ranks
from weft.training.validation import LOSSES

WEIGHT = 4  # bytes
MOST_TENSORS = 10_000
TOO_LARGE = f"its sizes are too large: no tensor is so large, or there are more than {MOST_TENSORS:,}"
ANY_VOCABULARY = (*NAMES, "a", "b")  # before there is one
INSTEAD = {
    "train": "",
    "valid": ". To validate on a tenth of the training data instead: data.valid=[] data.hold_out=0.1",
    "test": ". To do without: data.test=[]",
}


def check(recipe: Recipe) -> None:
    """Raise a ConfigError with every problem that is found."""
    _require_none(
        [
            *_settings(recipe),
            *_attempt("train.start", lambda: check_start(recipe)),
            *_attempt("train.keep_moments", lambda: check_moments(recipe)),
        ]
    )


def check_going_on(recipe: Recipe) -> None:
    """The same of a run that has begun: what it began with may be gone."""
    _require_none(_settings(recipe))


def _require_none(problems: list[Problem]) -> None:
    if problems:
        raise ConfigError(problems)


def _settings(recipe: Recipe) -> list[Problem]:
    return [
        *_data(recipe),
        *_length(recipe),
        *_attempt("text", lambda: learners(recipe.text)),
        *_one_sided(recipe),
        *_pictures(recipe),
        *_model(recipe),
        *_validation(recipe),
        *_attempt("train.validation.search", recipe.train.validation.search),
        *_attempt("translate.search", recipe.translate.search),
    ]


def check_ranks(recipe: Recipe, ranks: Ranks) -> None:
    """Raise a ConfigError with all that several processes cannot do together."""
    _require_none([*_single_rows(recipe), *_token_by_token(recipe)] if ranks.size > 1 else [])


def _single_rows(recipe: Recipe) -> Iterator[Problem]:
    slots = {"source": recipe.model.source, "target": recipe.model.target, "head": recipe.model.head}
    for name, make in slots.items():
        if describe(make, REGISTRY).get("sparse"):
            text = "true, but gradients of single rows are for one process alone: write false, or go without torchrun"
            yield Problem(f"model.{name}.sparse", text)


def _token_by_token(recipe: Recipe) -> Iterator[Problem]:
    """Shares are gathered whenever a layer is entered: as often on all ranks, or they would wait for ever."""
    objective = describe(recipe.objective, REGISTRY)
    feeding = objective.get("feeding", {})
    walks = objective["type"] == "minimum-risk" or feeding.get("type") == "free" or feeding.get("passes") == "steps"
    if walks and recipe.train.parallel == "fsdp":
        text = "fsdp, but this objective lets the model write token by token, in each process as many as it happens to"
        yield Problem("train.parallel", f"{text}: write ddp")


def check_files(recipe: Recipe, to_come: Collection[Path] = ()) -> None:
    """Raise a ConfigError with every file of the data that cannot be read, but for those that are made first."""
    _require_none(
        [
            Problem(place, text + INSTEAD[name])
            for name, corpora in recipe.data.files().items()
            for path in chain.from_iterable(corpora)
            if path not in to_come
            for place, text in _attempt(f"data.{name}", partial(require_matching, path))
        ]
    )


def _data(recipe: Recipe) -> Iterator[Problem]:
    wanted = "one text file" if recipe.data.one_sided else "two text files, or one .tsv or .jsonl"
    if not recipe.data.train and not recipe.data.mix:
        yield Problem("data.train", f"names no files: give {wanted}")
    if recipe.data.train and recipe.data.mix:
        yield Problem("data.mix", "names the training data, and data.train too: put all into the mix, and train: []")
    for place, corpus in enumerate(recipe.data.mix):
        if not corpus.files:
            yield Problem(f"data.mix.{place}.files", f"names no files: give {wanted}")
    if recipe.data.hold_out and recipe.data.valid:
        yield Problem("data.hold_out", "keeps pairs for validation, but data.valid names files: leave one of them out")


def _one_sided(recipe: Recipe) -> Iterator[Problem]:
    if recipe.data.one_sided and not recipe.text.joint:
        yield Problem("text.joint", "false, but data.one_sided gives one side only: write joint: true")
    if recipe.data.one_sided and recipe.train.validation.lines:
        text = "a language model translates no lines: write 0, and train.validation.choose: perplexity"
        yield Problem("train.validation.lines", text)


def _pictures(recipe: Recipe) -> Iterator[Problem]:
    """Is the source embedded as what it is?"""
    source, target = (describe(make, REGISTRY)["type"] for make in (recipe.model.source, recipe.model.target))
    pictures, pixels = reads(recipe.text) == "pictures", source == "pixels"
    if pictures and not pixels:
        yield Problem("model.source", "takes text, but text.source names pictures: write the type pixels")
    elif pixels and not pictures:
        yield Problem("model.source", "pixels, but text.source is text: write text.source: picture, or the type tokens")
    if target == "pixels":
        yield Problem("model.target", "pixels, but pictures can only be read: write the type tokens")


def _length(recipe: Recipe) -> Iterator[Problem]:
    settings = recipe.train
    if settings.steps is None and settings.minutes is None:
        yield Problem("train.steps", "is null, and so is train.minutes: give one of the two")
    elif settings.steps is not None and settings.minutes is not None:
        text = "is given, and train.steps too: set train.steps=null to train by the clock, or this to null for steps"
        yield Problem("train.minutes", text)
    if settings.minutes is not None and settings.schedule(ENDLESS).open == 0.0:
        text = (
            "how many steps fit is known only after a while, but this schedule needs the number from the start: "
            "take warmup-stable-decay or inverse-square-root, or give train.steps"
        )
        yield Problem("train.schedule", text)


def _validation(recipe: Recipe) -> Iterator[Problem]:
    settings = recipe.train.validation
    for name in settings.metrics:
        if name not in METRICS:
            yield Problem("train.validation.metrics", f"there is no metric {name!r}: choose from {', '.join(METRICS)}")
    measured = (*LOSSES, *(settings.metrics if settings.lines else ()))
    if settings.choose not in measured:
        text = f"{settings.choose!r} is not measured: {', '.join(measured)} are"
        yield Problem("train.validation.choose", text)
    if settings.patience is not None and not (recipe.data.valid or recipe.data.hold_out):
        yield Problem("train.validation.patience", "there is nothing to validate on: name files in data.valid")


def _model(recipe: Recipe) -> list[Problem]:
    """Build the model without memory or numbers: do its sizes fit, and are there positions for the longest line?"""
    built: list[Model] = []

    longest = recipe.data.max_length
    return [
        *_attempt("model", lambda: built.append(_without_numbers(recipe))),
        *(
            Problem("data.max_length", f"is {longest}, but model.{name} has positions for {limit} tokens, END counted")
            for model in built
            for name, limit in (
                ("source", model.source.limit),
                ("target", model.target.limit),
                ("lattice", None if model.lattice is None else model.lattice.limit),
            )
            if limit is not None and limit < longest + 1
        ),
        *(
            problem
            for model in built
            for problem in [*_memory(model), *_sides(recipe, model), *_objective(recipe, model)]
        ),
        *(problem for model in built for problem in _freezing(recipe, model)),
        *(problem for model in built for problem in mismatches(recipe, model, ANY_VOCABULARY)),
    ]


def _without_numbers(recipe: Recipe) -> Model:
    with without_numbers(MOST_TENSORS, TOO_LARGE):
        return build(recipe.model, ANY_VOCABULARY, ANY_VOCABULARY, joint=recipe.text.joint)


def _memory(model: Model) -> Iterator[Problem]:
    """Is there room for the weights alone? Embeddings come to that, and what training needs for each weight."""
    there, needed = installed_memory(), WEIGHT * parameters(model)
    if there is not None and needed > there:
        text = (
            f"would have weights of {needed / 2**30:,.0f} GiB, and this machine has {there / 2**30:,.0f} GiB of memory"
        )
        yield Problem("model", f"{text}: make it smaller")


def _sides(recipe: Recipe, model: Model) -> Iterator[Problem]:
    """Does the model read as many sides as the data has?"""
    if recipe.data.one_sided and not model.is_language_model:
        text = "true, but this model reads a source: write the type none for model.source and model.encoder"
        yield Problem("data.one_sided", text)
    elif model.is_language_model and not recipe.data.one_sided:
        text = "none, so a source would not be read: write data.one_sided: true, and one text file as data.train"
        yield Problem("model.encoder", text)


def _freezing(recipe: Recipe, model: Model) -> Iterator[Problem]:
    """Is there something to freeze, and something left that learns?"""
    for slot in recipe.train.freeze:
        if not weights_in(model, slot):
            yield Problem("train.freeze", f"the {slot} of this model has no weights: leave it out")
    freeze(model, recipe.train.freeze)
    if not learning(model):
        yield Problem("train.freeze", "everything is frozen, so nothing could be learned: leave some of it out")


def _objective(recipe: Recipe, model: Model) -> list[Problem]:
    """Make the objective with all that is known without data; one that asks for more is made later."""

    def load(folder: str) -> Model:
        place = Path(folder).expanduser()
        check_steps(_without_numbers(recipe_of(place)), recipe.data.max_length, place)
        return model

    given = Given(unread, load, counts=unread, looks=lambda: looks(model))
    try:
        return _attempt("objective", lambda: recipe.objective(given))
    except UnreadError:
        return []


class UnreadError(Exception):
    """The data is asked for before it is read."""


def unread(*_: object) -> Never:
    raise UnreadError


def _attempt(place: str, make: Callable[[], object]) -> list[Problem]:
    """The problems of making something."""
    try:
        make()
    except ConfigError as error:
        return error.problems
    except UserError as error:
        return [Problem(place, str(error))]
    return []
