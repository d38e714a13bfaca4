"""Loads a Translator from a run or model folder: its settings, frame decoder, word list, ensemble and shortlist."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from weft.checkpoints.model_folder import find_model, load_calibration, load_shortlist
from weft.checkpoints.trained_model import TrainedModel, load_model
from weft.config.inference_config import DecodingConfig, InferenceConfig
from weft.config.overrides import read_config
from weft.config.schema import constructor_settings, unwrap_factory
from weft.config.serialization import to_dict
from weft.config.yaml_files import PlainData
from weft.core.errors import UserError
from weft.core.hardware import select_device
from weft.core.setting_types import Factory
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.word_trie import EncodeLines, WordListConstraint, read_word_list
from weft.decoding.ctc_decoder import PrefixBeamDecoder
from weft.decoding.sampling import Sampling
from weft.decoding.search import FrameDecoder, FrameDecoderContext, LanguageModel, Search
from weft.inference.capabilities import (
    check_ensemble_member,
    check_n_best,
    check_overrides,
    check_settings,
    check_shortlist,
)
from weft.inference.ensemble import (
    Ensemble,
    EnsembleOptions,
    ensemble_weights,
    language_model_steps,
    load_external_language_model,
    load_fused_language_model,
)
from weft.inference.mbr import MBRSelector
from weft.inference.translator import Translator
from weft.text.tokenizer import Tokenizer

DecoderT = TypeVar("DecoderT")


def load_translator(
    path: Path,
    *,
    device: str = "auto",
    beam: int | None = None,
    n_best: int | None = None,
    overrides: Sequence[str] = (),
    allow_language_model: bool = False,
    ensemble: EnsembleOptions | None = None,
    shortlist: bool = False,
) -> Translator:
    """Load the model in a run or model folder, with its own search unless another is requested.

    beam, n_best: another beam size and number of alternatives. overrides: settings such as "translate.word_list=FILE".
    allow_language_model: load a language model too, for inspection (it cannot translate). ensemble: the other models.
    shortlist: restrict the tokens of each line to its lexical shortlist.
    """
    for override in overrides:
        if not override.startswith("translate."):
            raise UserError(f"--set {override}: only settings below translate. can be changed for a trained model")
    trained = load_model_on_device(path, device)
    if trained.model.is_language_model and not allow_language_model:
        raise UserError(
            f"{path} is a language model, which reads no source. To complete a text: weft complete MODEL PROMPT; "
            "to evaluate it: weft evaluate MODEL TEXT"
        )
    check_overrides(trained, overrides)
    settings = _effective_settings(trained, overrides, beam, n_best)
    check_settings(trained, settings, overrides)
    ensemble = ensemble or EnsembleOptions()
    uses_shortlist = shortlist or settings.shortlist
    if uses_shortlist:
        check_shortlist(trained, settings, is_ensemble=bool(ensemble.folders))
    return Translator(
        trained,
        _make_search(settings),
        settings,
        make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder"),
        load_word_list(trained, settings.word_list),
        _load_ensemble(trained, settings, ensemble, device),
        _make_mbr_selector(trained, settings, n_best),
        calibration=load_calibration(find_model(path)),
        shortlist=load_shortlist(find_model(path)) if uses_shortlist else None,
    )


def override_translator_search(
    translator: Translator, beam: int | None, n_best: int | None, overrides: Sequence[str] = ()
) -> Translator:
    """The translator with another beam size and number of alternatives. overrides: those that it was loaded with."""
    trained = translator.trained
    settings = _effective_settings(trained, overrides, beam, n_best)
    return replace(
        translator,
        settings=settings,
        search=_make_search(settings),
        frame_decoder=make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder"),
        mbr=_make_mbr_selector(trained, settings, n_best),
    )


def _effective_settings(
    trained: TrainedModel, overrides: Sequence[str], beam: int | None, n_best: int | None
) -> DecodingConfig:
    """The section `translate` of the model's recipe, with overrides, then with this beam size and n-best size."""
    settings = trained.recipe.translate
    if overrides:
        node: dict[str, PlainData] = {"translate": to_dict(settings)}
        settings = read_config(node, InferenceConfig, overrides).translate
    check_n_best(trained, settings.mbr, beam, n_best)
    if beam is None and n_best is None:
        return settings
    slot = "search" if trained.model.has_decoder else "frame_decoder"
    if any(override.startswith((f"translate.{slot}=", f"translate.{slot}.type=")) for override in overrides):
        node = to_dict(settings.search if slot == "search" else settings.frame_decoder)
        for option, value, setting, has in (
            ("--beam", beam, "size", "no beam"),
            ("--n-best", n_best, "n_best", "one output"),
        ):
            if value is not None and setting not in node:
                conflict = f"{option} {value}: but --set makes translate.{slot} {node['type']}, which has {has}"
                raise UserError(f"{conflict}: omit one of the two")
    if slot == "search":
        return replace(settings, search=with_beam(settings.search, BeamSearch, beam, n_best))
    return replace(settings, frame_decoder=with_beam(settings.frame_decoder, PrefixBeamDecoder, beam, n_best))


def with_beam(
    search: Factory[DecoderT], beam_search: Factory[DecoderT], beam: int | None, n_best: int | None
) -> Factory[DecoderT]:
    """A search or frame decoder with another beam size and n-best size.

    One without a beam is replaced by `beam_search`, unless only the n-best size of one that has it, such as sampling,
    is changed.
    """
    for option, value in (("--beam", beam), ("--n-best", n_best)):
        if value is not None and value < 1:
            raise UserError(f"{option} {value}: should be at least 1")
    kind, arguments = unwrap_factory(search)
    settings = {name: setting.default for name, setting in constructor_settings(kind).items()} | arguments
    if beam is None and "n_best" in settings and "size" not in settings:
        return partial(cast(Factory[DecoderT], kind), **{**arguments, "n_best": n_best})
    if "size" not in settings:
        kind, arguments, settings = cast(type, beam_search), {}, {"size": 5, "n_best": 1}
    size = beam or max(n_best or 1, settings["size"])
    sizes = {"size": size, "n_best": n_best or min(settings["n_best"], size)}
    return partial(cast(Factory[DecoderT], kind), **{**arguments, **sizes})


def _make_search(settings: DecodingConfig) -> Search:
    """The search; for minimum Bayes risk, sampling, with the settings of `translate.search` if that is sampling."""
    if not settings.mbr.samples:
        return settings.search()
    kind, arguments = unwrap_factory(settings.search)
    return Sampling(**{**(arguments if kind is Sampling else {}), "n_best": settings.mbr.samples})


def _make_mbr_selector(trained: TrainedModel, settings: DecodingConfig, n_best: int | None) -> MBRSelector | None:
    mbr = settings.mbr
    return MBRSelector(mbr.cost, trained.target_tokenizer, n_best or 1) if mbr.samples else None


def _load_ensemble(trained: TrainedModel, settings: DecodingConfig, options: EnsembleOptions, device: str) -> Ensemble:
    fused = load_fused_language_model(trained, settings.fusion)
    weights, others = ensemble_weights(options), list[TrainedModel]()
    for folder in options.folders:
        others.append(load_model_on_device(folder, device))
        check_ensemble_member(trained, others[-1], folder)
    return Ensemble(tuple(others), weights, options.mean, fused)


def make_frame_decoder(trained: TrainedModel, make: Factory[FrameDecoder], setting: str) -> FrameDecoder | None:
    """The frame decoder for this model; None if it has a decoder. setting: its place in the recipe, for messages."""
    if trained.model.has_decoder or trained.model.frame_head is None:
        return None
    target = trained.target_tokenizer

    def language_model(folder: str) -> LanguageModel:
        language, ids = load_external_language_model(Path(folder).expanduser(), target, trained.device)
        return language_model_steps(language.model, ids)

    blank = trained.model.frame_head.blank
    try:
        return make(FrameDecoderContext(blank, target.vocabulary(), exact_encoder(target), language_model))
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error


def load_word_list(trained: TrainedModel, file: str | None) -> WordListConstraint | None:
    """The words in the file `translate.word_list`, in the tokens of this model."""
    if file is None:
        return None
    target = trained.target_tokenizer
    try:
        return WordListConstraint(read_word_list(Path(file).expanduser(), exact_encoder(target), target.size))
    except UserError as error:
        raise UserError(f"translate.word_list: {error}") from error


def exact_encoder(target: Tokenizer) -> EncodeLines:
    """Encodes lines; one that needs the unknown token becomes empty."""
    return lambda lines: [[] if target.unknown_id in row else row for row in target.encode(lines)]


def load_model_on_device(path: Path, device: str) -> TrainedModel:
    """Load the model in a run or model folder onto a device."""
    torch_device = select_device(device)
    trained = load_model(path)
    trained.model.to(torch_device)
    return trained
