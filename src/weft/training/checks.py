"""What can be wrong in a recipe though every name and type is right: told before any data is read."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import torch

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError, Problem, UserError
from weft.core.marks import NAMES
from weft.metric.evaluate import METRICS
from weft.model.build import build
from weft.model.model import Model
from weft.objective.role import Given
from weft.store.model_folder import find_model
from weft.text.settings import learners, reads
from weft.training.budget import ENDLESS
from weft.training.given import looks
from weft.training.initial import check_start
from weft.training.matching import mismatches
from weft.training.validation import LOSSES

ANY_VOCABULARY = (*NAMES, "a", "b")  # before there is one


def check(recipe: Recipe) -> None:
    """Raise a ConfigError with every problem that is found."""
    problems = [
        *_data(recipe),
        *_length(recipe),
        *_attempt("text", lambda: learners(recipe.text)),
        *_one_sided(recipe),
        *_pictures(recipe),
        *_model(recipe),
        *_validation(recipe),
        *_attempt("train.start", lambda: check_start(recipe)),
        *_attempt("train.validation.search", recipe.train.validation.search),
        *_attempt("translate.search", recipe.translate.search),
    ]
    if problems:
        raise ConfigError(problems)


def _data(recipe: Recipe) -> Iterator[Problem]:
    if not recipe.data.train:
        wanted = "one text file" if recipe.data.one_sided else "two text files, or one .tsv or .jsonl"
        yield Problem("data.train", f"names no files: give {wanted}")
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

    def without_numbers() -> None:
        with torch.device("meta"):
            built.append(build(recipe.model, ANY_VOCABULARY, ANY_VOCABULARY, joint=recipe.text.joint))

    longest = recipe.data.max_length
    return [
        *_attempt("model", without_numbers),
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
        *(problem for model in built for problem in [*_sides(recipe, model), *_objective(recipe, model)]),
        *(problem for model in built for problem in mismatches(recipe, model, ANY_VOCABULARY)),
    ]


def _sides(recipe: Recipe, model: Model) -> Iterator[Problem]:
    """Does the model read as many sides as the data has?"""
    if recipe.data.one_sided and not model.is_language_model:
        text = "true, but this model reads a source: write the type none for model.source and model.encoder"
        yield Problem("data.one_sided", text)
    elif model.is_language_model and not recipe.data.one_sided:
        text = "none, so a source would not be read: write data.one_sided: true, and one text file as data.train"
        yield Problem("model.encoder", text)


def _objective(recipe: Recipe, model: Model) -> list[Problem]:
    """Make the objective with all that is known without data; one that asks for more is made later."""

    def load(folder: str) -> Model:
        find_model(Path(folder).expanduser())
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
