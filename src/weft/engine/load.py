"""From a folder to something that translates."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from weft.config.load import load_recipe
from weft.config.reader import describe, read
from weft.config.recipe import Recipe, Translate
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.engine.device import pick_device
from weft.engine.reading import reading_of, words_of
from weft.engine.risk import check_drawing, check_mbr, risk_of, sampling_of
from weft.engine.several import ALONE, Beside, Joining, check_fusing, check_joining, fuse, joined_weights
from weft.engine.translator import Translator
from weft.engine.widening import wider
from weft.store.calibration import load_calibration
from weft.store.model_folder import Trained, load_model
from weft.store.place import find_model
from weft.store.shortlist import load_shortlist
from weft.text.shortlist import Shortlist


def load_translator(
    path: Path,
    *,
    device: str = "auto",
    beam: int | None = None,
    best: int | None = None,
    overrides: Sequence[str] = (),
    language_models: bool = False,
    joining: Joining | None = None,
    shortlist: bool = False,
) -> Translator:
    """The model in a run or model folder, with its own search or reading unless another is asked for.

    language_models: whether it may be one, to look inside; translate it cannot. joining: the other models of an
    ensemble, of which this one is the first. shortlist: whether the tokens of a line are chosen from its list alone.
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
    settings = settings_of(trained, overrides, beam, best)
    check_mixing(trained, settings)
    check_guided(trained, settings)
    check_mbr(trained, settings.mbr, beam, best)
    check_drawing(settings, overrides)
    check_fusing(settings.fusion, overrides)
    return Translator(
        trained,
        settings.search() if settings.mbr.samples == 0 else sampling_of(settings),
        settings,
        reading_of(trained, settings.reading, "translate.reading"),
        words_of(trained, settings.words),
        load_beside(trained, settings, joining, device),
        risk_of(trained, settings.mbr, best),
        calibration=load_calibration(find_model(path)),
        shortlist=shortlist_for(path, trained, settings, joining) if shortlist or settings.shortlist else None,
    )


def shortlist_for(path: Path, trained: Trained, settings: Translate, joining: Joining | None) -> Shortlist:
    """The shortlist of a model, where its own steps alone decide what is said."""
    if not trained.model.has_decoder:
        raise UserError("a shortlist is for the steps of a decoder, and this model has none: leave it out")
    for what, given in (
        ("other models", joining is not None and bool(joining.folders)),
        ("translate.fusion.model", settings.fusion.model is not None),
        ("translate.ctc_weight", bool(settings.ctc_weight)),
        ("translate.words", settings.words is not None),
    ):
        if given:
            raise UserError(f"a shortlist and {what} both say what may come next: leave out one of the two")
    return load_shortlist(find_model(path))


def widened(translator: Translator, beam: int | None, best: int | None, overrides: Sequence[str] = ()) -> Translator:
    """The same with another beam size and number of alternatives. overrides: those that it was loaded with."""
    check_several(translator.trained, beam, best)
    settings = settings_of(translator.trained, overrides, beam, best)
    check_mbr(translator.trained, settings.mbr, beam, best)
    return replace(
        translator,
        settings=settings,
        search=settings.search() if settings.mbr.samples == 0 else sampling_of(settings),
        reading=reading_of(translator.trained, settings.reading, "translate.reading"),
        risk=risk_of(translator.trained, settings.mbr, best),
    )


def settings_of(trained: Trained, overrides: Sequence[str], beam: int | None, best: int | None) -> Translate:
    """How the model is used: as it was configured, with what is set otherwise; then as wide as is asked for."""
    node = describe(trained.recipe, REGISTRY)
    if overrides:
        node = describe(load_recipe(node, overrides), REGISTRY)
    role, wide = ("search", "beam") if trained.model.has_decoder else ("reading", "prefix-beam")
    found = node["translate"][role]
    chosen = any(one.startswith((f"translate.{role}=", f"translate.{role}.type=")) for one in overrides)
    for option, asked, setting, has in (("--beam", beam, "size", "no beam"), ("--best", best, "best", "one output")):
        if asked is not None and chosen and setting not in found:
            told = f"{option} {asked}: but --set makes translate.{role} {found['type']}, which has {has}"
            raise UserError(f"{told}: leave out one of the two")
    node["translate"][role] = wider(found, wide, beam, best)
    return read(node, Recipe, REGISTRY).translate


def load_beside(trained: Trained, settings: Translate, joining: Joining | None, device: str) -> Beside:
    """What is to speak beside the model: the others of an ensemble, and the language model that the settings name."""
    beside = replace(ALONE, fused=fuse(trained, settings.fusion))
    if joining is None:
        return beside
    weights, others = joined_weights(joining), []
    for folder in joining.folders:
        others.append(load_trained(folder, device))
        check_joining(trained, others[-1], folder)
    return replace(beside, others=tuple(others), weights=weights, mean=joining.mean)


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


def check_guided(trained: Trained, settings: Translate) -> None:
    """Are there steps to guide, where guiding is asked for?"""
    for name, value in (
        ("least_factor", settings.least_factor),
        ("least_extra", settings.least_extra),
        ("block_repeats", settings.block_repeats),
    ):
        if value and not trained.model.has_decoder:
            raise UserError(f"translate.{name} is {value}, but this model has no decoder to be guided: write 0")
    if settings.least_factor > settings.length_factor:
        least, most = settings.least_factor, settings.length_factor
        raise UserError(
            f"translate.least_factor is {least:g}, but translate.length_factor {most:g}: the least length of an output "
            "would be more than the greatest"
        )


def load_trained(path: Path, device: str) -> Trained:
    """The model in a run or model folder, on the device."""
    place = pick_device(device)
    trained = load_model(path)
    trained.model.to(place)
    return trained
