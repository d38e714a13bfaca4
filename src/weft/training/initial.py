"""A run that begins with a trained model: its weights and its tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.store.model_folder import Trained, fill, load_model, recipe_of, weights_of
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer

FREE = ("dropout", "sample", "sparse")  # how settings end that may differ: no weight or id means another thing then


def load_start(recipe: Recipe) -> Trained | None:
    """The model in the folder that train.start names, if it names one."""
    return None if recipe.train.start is None else load_model(place_of(recipe.train.start))


def tokenizers_of(start: Trained | None) -> tuple[Reader, Tokenizer] | None:
    return None if start is None else (start.source_tokenizer, start.target_tokenizer)


def take_weights(trained: Trained, start: Trained) -> None:
    """Let the model begin where the other one ended."""
    fill(trained.model, weights_of(start.model), place_of(str(trained.recipe.train.start)))


def check_start(recipe: Recipe) -> None:
    """Is there a model in that folder, and is it the one that this recipe describes?"""
    if recipe.train.start is None:
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
