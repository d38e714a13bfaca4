"""A run that begins with a trained model: its weights and its tokenizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.core.marks import NAMES
from weft.model.build import build
from weft.model.freezing import freeze, learning
from weft.store.checkpoint import newest_checkpoint, steps_in
from weft.store.model_folder import Trained, load_model, recipe_of
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer

CHECKPOINTS = "checkpoints"
KEY = re.compile(r"(\D*)(\d+)\.(\w+)")
FREE = ("dropout", "sample", "sparse")  # how settings end that may differ: no weight or id means another thing then


def load_start(recipe: Recipe) -> Trained | None:
    """The model in the folder that train.start names, if it names one."""
    return None if recipe.train.start is None else load_model(place_of(recipe.train.start))


def tokenizers_of(start: Trained | None) -> tuple[Reader, Tokenizer] | None:
    return None if start is None else (start.source_tokenizer, start.target_tokenizer)


def check_start(recipe: Recipe) -> None:
    """Is there a model in that folder, and is it the one that this recipe describes?"""
    if recipe.train.start is None:
        if recipe.train.keep_moments:
            raise UserError("is missing, but train.keep_moments is true: name the run whose optimiser is kept")
        return
    there, here = (settings(one) for one in (recipe_of(place_of(recipe.train.start)), recipe))
    different = [place for place in {*there, *here} if there.get(place) != here.get(place)]
    if different:
        place = min(different, key=lambda place: (not place.endswith(".type"), place))  # another type explains the rest
        more = f" (and {len(different) - 1} more)" if len(different) > 1 else ""
        raise UserError(
            f"{recipe.train.start} holds another model: {place} is {there.get(place)} there and {here.get(place)} "
            f"here{more}. Weights and tokenizers can be taken over only where model and text are the same: begin with "
            f"the recipe of that run, its config.yaml"
        )


def check_moments(recipe: Recipe) -> None:
    """Has the run that train.start names an optimiser to keep, and is it the one of this recipe?"""
    if recipe.train.start is None or not recipe.train.keep_moments:
        return
    place = place_of(recipe.train.start)
    there, here = (describe(one.train.optimiser, REGISTRY) for one in (recipe_of(place), recipe))
    if there != here:
        raise UserError(
            f"true, but the optimiser of {place} was {there}, and train.optimiser is {here}: "
            "write false (weft finetune: leave out --keep-optimiser)"
        )
    if not steps_in(place / CHECKPOINTS):
        raise UserError(
            f"true, but {place} has no checkpoints, where the optimiser's moments are: name the run folder (the --out "
            "of weft train), not the model inside it, or write false"
        )


def kept_moments(recipe: Recipe, tell: Callable[[str], None]) -> dict[str, Tensor]:
    """The moments of the run that train.start names, under the numbers that this run's optimiser gives its weights."""
    place = place_of(str(recipe.train.start))
    checkpoint = newest_checkpoint(place / CHECKPOINTS, tell)
    moments = {} if checkpoint is None else checkpoint.groups["optimiser"]
    return renumbered(moments, learning_names(recipe_of(place)), learning_names(recipe))


def renumbered(moments: Mapping[str, Tensor], old: Sequence[str], new: Sequence[str]) -> dict[str, Tensor]:
    """Moments of weights that no longer learn are left out. old, new: the names of the weights that learn, in order."""
    numbers = {name: number for number, name in enumerate(new)}
    found = {}
    for key, moment in moments.items():
        before, number, what = split_key(key)
        if old[number] in numbers:
            found[f"{before}{numbers[old[number]]}.{what}"] = moment
    return found


def split_key(key: str) -> tuple[str, int, str]:
    """The name of a moment: what stands before the number of its weight, that number, and what it is."""
    before, number, what = KEY.fullmatch(key).groups()  # type: ignore[union-attr]  # optimisers name them so
    return before, int(number), what


def learning_names(recipe: Recipe) -> list[str]:
    """The names do not depend on the vocabulary."""
    with torch.device("meta"):
        model = build(recipe.model, NAMES, NAMES, joint=recipe.text.joint)
    freeze(model, recipe.train.freeze)
    return list(learning(model))


def settings(recipe: Recipe) -> dict[str, Any]:
    """What the weights and ids of a model depend on, by the dotted place in its recipe."""
    node = describe(recipe, REGISTRY)
    places = {**flat(node["model"], "model"), **flat(node["text"], "text")}
    return {place: value for place, value in places.items() if not place.endswith(FREE)}


def flat(node: Any, place: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        return {place: node}
    return {inner: value for name in node for inner, value in flat(node[name], f"{place}.{name}").items()}


def place_of(folder: str) -> Path:
    return Path(folder).expanduser()
