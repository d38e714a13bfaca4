"""From a folder to something that translates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.overrides import apply_overrides
from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.engine.device import pick_device
from weft.engine.translator import Translator
from weft.store.model_folder import Trained, load_model


def load_translator(
    path: Path,
    *,
    device: str = "auto",
    beam: int | None = None,
    best: int | None = None,
    overrides: Sequence[str] = (),
    language_models: bool = False,
) -> Translator:
    """The model in a run or model folder, with its own search unless another is asked for.

    language_models: whether it may be one, to look inside; translate it cannot.
    """
    for override in overrides:
        if not override.startswith("translate."):
            raise UserError(f"--set {override}: of a trained model, only settings below translate. can be changed")
    trained = load_trained(path, device)
    if trained.model.is_language_model and not language_models:
        raise UserError(
            f"{path} is a language model, which reads no source. To go on with a text: weft complete MODEL PROMPT; "
            "to measure one: weft evaluate MODEL TEXT"
        )
    node = describe(trained.recipe, REGISTRY)
    node["translate"]["search"] = wider(node["translate"]["search"], beam, best)
    settings = read(apply_overrides(node, overrides), Recipe, REGISTRY).translate
    return Translator(trained, settings.search(), settings)


def load_trained(path: Path, device: str) -> Trained:
    """The model in a run or model folder, on the device."""
    place = pick_device(device)
    trained = load_model(path)
    trained.model.to(place)
    return trained


def wider(search: dict[str, Any], beam: int | None, best: int | None) -> dict[str, Any]:
    """The search with another beam size and number of alternatives, where they are given."""
    if beam is None and best is None:
        return search
    known = search if search["type"] == "beam" else {"type": "beam"}
    size = beam or max(best or 1, known.get("size", 5))
    return {**known, "size": size, "best": best or min(known.get("best", 1), size)}
