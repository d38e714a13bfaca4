"""From a folder to something that translates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.overrides import apply_overrides
from weft.config.reader import describe, read
from weft.config.recipe import Recipe, Translate
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.engine.device import pick_device
from weft.engine.reading import reading_of
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
    """The model in a run or model folder, with its own search or reading unless another is asked for.

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
    check_finds(trained, overrides)
    check_several(trained, beam, best)
    node = describe(trained.recipe, REGISTRY)
    finding, wide = ("search", "beam") if trained.model.has_decoder else ("reading", "prefix-beam")
    node["translate"][finding] = wider(node["translate"][finding], wide, beam, best)
    settings = read(apply_overrides(node, overrides), Recipe, REGISTRY).translate
    check_mixing(trained, settings)
    reading = reading_of(trained, settings.reading, "translate.reading")
    return Translator(trained, settings.search(), settings, reading)


def check_finds(trained: Trained, overrides: Sequence[str]) -> None:
    """Are the settings about what this model has: steps to search, or frames to read?"""
    unread, instead, why = (
        ("translate.reading", "translate.search", "has a decoder, so its steps are searched")
        if trained.model.has_decoder
        else ("translate.search", "translate.reading", "has no decoder, so its frames are read")
    )
    for override in overrides:
        if override.startswith((f"{unread}.", f"{unread}=")):
            raise UserError(f"--set {override}: this model {why}: set {instead} instead")


def check_several(trained: Trained, beam: int | None, best: int | None) -> None:
    """Can there be several outputs to choose from, where they are asked for?"""
    lattice = trained.model.lattice
    if (beam or best) and not trained.model.has_decoder and lattice is not None and not lattice.blank:
        raise UserError(
            "--beam and --best look among several outputs, but the frames of this model say one: leave them out"
        )


def check_mixing(trained: Trained, settings: Translate) -> None:
    """Is there something to mix, where mixing is asked for?"""
    lattice = trained.model.lattice
    if settings.ctc_weight and not (trained.model.has_decoder and lattice is not None and lattice.blank):
        raise UserError(
            f"translate.ctc_weight is {settings.ctc_weight}, but this model does not have both a decoder and a lattice "
            "of the type ctc: write 0"
        )


def load_trained(path: Path, device: str) -> Trained:
    """The model in a run or model folder, on the device."""
    place = pick_device(device)
    trained = load_model(path)
    trained.model.to(place)
    return trained


def wider(finding: dict[str, Any], wide: str, beam: int | None, best: int | None) -> dict[str, Any]:
    """The search or reading with another beam size and number of alternatives, where they are given."""
    if beam is None and best is None:
        return finding
    known = finding if finding["type"] == wide else {"type": wide}
    size = beam or max(best or 1, known.get("size", 5))
    return {**known, "size": size, "best": best or min(known.get("best", 1), size)}
