"""What a model and a backend can do: checks of decoding settings, ensembles, shortlists and outputs against a loaded
model, and the reasons why a model or its search cannot be reproduced by CTranslate2 or ONNX.

Must not import torch at module level: a backend is selected from the model folder alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from weft.checkpoints.model_folder import ModelFolder, RecipeNode
from weft.core.errors import ConfigProblem, UserError
from weft.data.languages import language_pair

if TYPE_CHECKING:
    from weft.checkpoints.trained_model import TrainedModel
    from weft.config.inference_config import DecodingConfig, MBRConfig
    from weft.inference.postprocessor import OutputOptions
    from weft.models.model import Model

# Decoding settings of a loaded model


def check_overrides(trained: TrainedModel, overrides: Sequence[str]) -> None:
    """Raise UserError if a search is set for a model without a decoder, or a frame decoder for one with a decoder."""
    unused, used, reason = (
        ("translate.frame_decoder", "translate.search", "has a decoder, so its steps are searched")
        if trained.model.has_decoder
        else ("translate.search", "translate.frame_decoder", "has no decoder, so its frames are decoded")
    )
    for override in overrides:
        if override.startswith((f"{unused}.", f"{unused}=")):
            raise UserError(f"--set {override}: this model {reason}: set {used} instead")


def check_n_best(trained: TrainedModel, mbr: MBRConfig, beam: int | None, n_best: int | None) -> None:
    """Raise UserError if the model cannot produce the requested n-best list, or has no beam of the requested size."""
    frame_head = trained.model.frame_head
    if (beam or n_best) and not trained.model.has_decoder and frame_head is not None and not frame_head.blank:
        raise UserError("--beam and --n-best need several outputs, but the frames of this model have one: omit them")
    setting = f"translate.mbr.samples is {mbr.samples}"
    if mbr.samples and beam is not None:
        raise UserError(f"--beam {beam}: {setting}, so outputs are sampled, not searched: omit one of the two")
    if mbr.samples and n_best is not None and n_best > mbr.samples:
        raise UserError(f"--n-best {n_best}: {setting}, so there are fewer outputs: sample more, or request fewer")


def check_settings(trained: TrainedModel, settings: DecodingConfig, overrides: Sequence[str]) -> None:
    """Raise UserError if the model cannot be decoded with these settings, or if an override (`--set`) has no effect."""
    from weft.config.schema import unwrap_factory
    from weft.decoding.sampling import Sampling

    for problem in decoding_problems(trained.model, settings):
        raise UserError(str(problem))
    samples, (kind, _) = settings.mbr.samples, unwrap_factory(settings.search)
    for override in overrides:
        if settings.fusion.model is None and override.startswith("translate.fusion.weight"):
            raise UserError(f"--set {override}: there is no language model: set translate.fusion.model too")
        if not samples and override.startswith("translate.mbr.cost"):
            raise UserError(f"--set {override}: has an effect only with samples: set translate.mbr.samples too")
        if samples and kind is not Sampling and override.startswith("translate.search"):
            raise UserError(
                f"--set {override}: translate.mbr.samples is {samples}, so outputs are sampled, and only settings of "
                "the type sampling have an effect: omit it, or set translate.search={type: sampling, ...}"
            )


def decoding_problems(model: Model, settings: DecodingConfig) -> Iterator[ConfigProblem]:
    """Yield the settings of the section `translate` that this model cannot be decoded with."""
    frame_head, fusion = model.frame_head, settings.fusion
    if settings.ctc_weight and not (model.has_decoder and frame_head is not None and frame_head.blank):
        text = "but this model does not have both a decoder and a frame head of the type ctc: set it to 0"
        yield ConfigProblem("translate.ctc_weight", f"is {settings.ctc_weight}, {text}")
    if not model.has_decoder:
        for name, value in (
            ("min_length_factor", settings.min_length_factor),
            ("min_length_extra", settings.min_length_extra),
            ("no_repeat_ngram_size", settings.no_repeat_ngram_size),
            ("mbr.samples", settings.mbr.samples),
        ):
            if value:
                yield ConfigProblem(f"translate.{name}", f"is {value}, but this model has no decoder: set it to 0")
        if settings.word_list is not None:
            text = "restricts the steps of a decoder to a list of words, but this model has none: set "
            advice = "translate.frame_decoder to prefix-beam, and its word_list"
            yield ConfigProblem("translate.word_list", text + advice)
        if fusion.model is not None and fusion.weight:
            text = "adds a language model to the steps of a decoder, but this model has none: set "
            advice = "translate.frame_decoder.language_model instead, of the type prefix-beam"
            yield ConfigProblem("translate.fusion", text + advice)
    if settings.min_length_factor > settings.max_length_factor:
        text = f"is {settings.min_length_factor:g}, but translate.max_length_factor {settings.max_length_factor:g}: "
        problem = "the minimum length of an output would exceed the maximum"
        yield ConfigProblem("translate.min_length_factor", text + problem)


def check_shortlist(trained: TrainedModel, settings: DecodingConfig, *, is_ensemble: bool) -> None:
    """Raise UserError if a shortlist cannot be used: it restricts the output layer of a single decoder."""
    if not trained.model.has_decoder:
        raise UserError("a shortlist restricts the steps of a decoder, and this model has none: omit it")
    for other, is_set in (
        ("an ensemble", is_ensemble),
        ("translate.fusion.model", settings.fusion.model is not None),
        ("translate.ctc_weight", bool(settings.ctc_weight)),
        ("translate.word_list", settings.word_list is not None),
    ):
        if is_set:
            raise UserError(f"a shortlist cannot be combined with {other}: omit one of the two")


def check_ensemble_member(own: TrainedModel, other: TrainedModel, folder: Path) -> None:
    """Raise UserError unless the steps of the model `other` in `folder` can be averaged with those of `own`."""
    if other.model.is_language_model:
        raise UserError(
            f"{folder} is a language model, which reads no source, so it cannot be part of an ensemble of translation "
            f"models. To add its scores: --set translate.fusion.model={folder}"
        )
    for trained, name in ((own, "the first model"), (other, str(folder))):
        if not trained.model.has_decoder:
            raise UserError(f"{name} has no decoder, so it has no steps that an ensemble could average: omit it")
    ours, theirs = own.source_tokenizer.modality, other.source_tokenizer.modality
    if ours != theirs:
        raise UserError(f"{folder} reads {theirs}, but the first model {ours}: an ensemble must read the same input")
    own_pair, other_pair = (language_pair(trained.recipe.data.languages) for trained in (own, other))
    if own_pair and other_pair and not own_pair.is_like(other_pair):
        raise UserError(
            f"{folder} translates {other_pair.describe()}, but the first model {own_pair.describe()}: an ensemble must "
            "have the same languages"
        )
    if difference := _vocabulary_difference(own, other):
        raise UserError(
            f"{folder} does not have the target tokens of the first model ({difference}), so their steps cannot be "
            "averaged. Models have the same tokens if data.train, text and train.seed were the same in training. To "
            "combine models with different tokens: weft rerank"
        )


def _vocabulary_difference(own: TrainedModel, other: TrainedModel) -> str:
    ours, theirs = own.target_tokenizer, other.target_tokenizer
    if ours.size != theirs.size:
        return f"{theirs.size:,} tokens there, {ours.size:,} here"
    pairs = zip(ours.vocabulary(), theirs.vocabulary(), strict=True)
    differing = [(number, there, here) for number, (here, there) in enumerate(pairs) if here != there]
    if differing:
        number, there, here = differing[0]
        return f"{len(differing):,} of {ours.size:,} differ, such as number {number}: {there!r} there, {here!r} here"
    return "" if ours.order == theirs.order else f"it generates them {theirs.order}, the first model {ours.order}"


# Outputs of a loaded model


def check_output_options(trained: TrainedModel, outputs: OutputOptions, option: str) -> None:
    """Raise UserError if the model cannot produce the requested outputs; `option` is what the user wrote."""
    obstacle = attention_obstacle(trained) if outputs.needs_attention else ""
    if obstacle:
        raise UserError(f"{option}: {obstacle}; omit it")
    if outputs.replace_unknown and trained.target_tokenizer.unknown_id is None:
        raise UserError(f"{option}: the target tokenizer can spell every word, so none is unknown; omit it")


def attention_obstacle(trained: TrainedModel) -> str:
    """Why a model has no attention over source tokens; empty if it has. Found by running one step of the model."""
    import numpy as np
    import torch

    from weft.core.special_tokens import BOS, NUM_SPECIAL_TOKENS
    from weft.data.batches import pad_rows
    from weft.inference.step_functions import model_steps

    if trained.source_tokenizer.modality != "text":
        return "this model reads images, which have no words"
    if not trained.model.has_decoder:
        return "this model has no decoder, so there is no attention"
    device, count = trained.device, min(3, trained.max_source_length)
    with torch.inference_mode():
        source = pad_rows([np.full(count, NUM_SPECIAL_TOKENS)]).to(device)
        step, state = model_steps(trained.model, source, trained.recipe.translate.ctc_weight)
        attention = step(torch.tensor([BOS], device=device), state)[0].attention
    if attention is None:
        return "the decoder of this model does not attend to the source, so there is no attention"
    if attention.shape[1] != count + 1:
        return "the encoder of this model returns fewer positions than it reads, so attention has no source tokens"
    return ""


# Export formats, judged from the model folder

CTranslate2Precision: TypeAlias = Literal["float32", "int16", "int8"]
CTRANSLATE2_ACTIVATIONS = ("relu", "gelu", "swiglu")
EXPORTED_SLOTS = {
    "source": "tokens",
    "encoder": "transformer",
    "target": "tokens",
    "decoder": "transformer",
    "head": "linear",
}
NEUTRAL_SETTINGS = {
    "ctc_weight": 0.0,
    "word_list": None,
    "min_length_factor": 0.0,
    "min_length_extra": 0,
    "no_repeat_ngram_size": 0,
    "fusion.model": None,
    "mbr.samples": 0,
}
DEFAULT_BEAM: RecipeNode = {  # defaults of decoding/beam.py, which needs torch; a test compares them
    "type": "beam",
    "length_penalty": {"type": "average", "alpha": 1.0},
    "coverage_penalty": 0.0,
    "stop_rule": "finished",
    "keep_greedy": False,
}


def unsupported_by_onnx(model: ModelFolder) -> list[str]:
    """All reasons why a model cannot be exported to ONNX; none if it can."""
    modality, reasons = model.source.modality, list[str]()
    if modality != "text":
        reasons.append(f"text.source is {modality}: only text is supported")
    for slot, supported in EXPORTED_SLOTS.items():
        if model.slots[slot]["type"] != supported:
            reasons.append(f"model.{slot} is {model.slots[slot]['type']}: only {supported} is supported")
    if model.slots["frame_head"] is not None:
        reasons.append(f"model.frame_head is {model.slots['frame_head']['type']}: only a decoder is supported")
    return reasons


def unsupported_by_ctranslate2(model: ModelFolder) -> list[str]:
    """All reasons why a model cannot run in CTranslate2, which supports less than ONNX; none if it can.

    Everything else is compared with torch in tests/laws/test_backends_agree.py.
    """
    reasons = unsupported_by_onnx(model)
    for embedding_slot, stack_slot in (("source", "encoder"), ("target", "decoder")):
        embedding, stack = model.slots[embedding_slot], model.slots[stack_slot]
        has_positions = embedding.get("positions") is not None
        if embedding["type"] == "tokens" and has_positions and embedding["merge"] not in ("sum", "mean"):
            reasons.append(f"model.{embedding_slot}.merge is {embedding['merge']}: only sum and mean are supported")
        if stack["type"] != "transformer":
            continue
        slot, window, activation = f"model.{stack_slot}", stack["attention_window"], stack["activation"]
        if stack["rotary"] and has_positions:
            reasons.append(f"{slot}.rotary is true, and the embedding has positions too: only one of them is supported")
        if window is not None:
            reasons.append(f"{slot}.attention_window is {window}: only full attention is supported")
        if activation not in CTRANSLATE2_ACTIVATIONS:
            listed = ", ".join(CTRANSLATE2_ACTIVATIONS)
            reasons.append(f"{slot}.activation is {activation}: only {listed} are supported")
    return reasons


class CTranslate2Search(NamedTuple):
    """A beam of this size, 1 for greedy search, ranked by score / length^alpha."""

    beam: int
    alpha: float


def closest_ctranslate2_search(translate: RecipeNode, beam: int | None = None) -> CTranslate2Search:
    """The search of CTranslate2 that is closest to the section `translate` of a recipe (with this beam size)."""
    match _search_node(translate, beam):
        case {"type": "beam", "size": int(size), "length_penalty": {"type": "average", "alpha": alpha}} if size > 1:
            return CTranslate2Search(size, float(alpha))
        case {"type": "beam", "size": int(size), "length_penalty": {"type": "none"}} if size > 1:
            return CTranslate2Search(size, 0.0)
        case search:
            return CTranslate2Search(search.get("size", 1), 1.0)


def ctranslate2_differences(translate: RecipeNode, beam: int | None = None) -> list[str]:
    """All reasons why CTranslate2 may find other outputs than the section `translate` of a recipe (with this beam).

    Its greedy search is ours. Its beam search continues like ours, and stops like `stop_rule: finished`; its ranking
    score / length^alpha, EOS counted in the length, is the length penalty `average`.
    """
    return [*_setting_differences(translate), *_search_differences(_search_node(translate, beam))]


def greedy_differences(translate: RecipeNode) -> list[str]:
    """All reasons why greedy search may find other outputs than the section `translate` of a recipe."""
    search = translate["search"]
    is_greedy = search["type"] == "greedy" or (search["type"] == "beam" and search["size"] == 1)
    return [*_setting_differences(translate), *([] if is_greedy else [f"translate.search is {search['type']}"])]


def _search_node(translate: RecipeNode, beam: int | None) -> RecipeNode:
    search: RecipeNode = translate["search"]
    return search if beam is None else {**(search if "size" in search else DEFAULT_BEAM), "size": beam}


def _setting_differences(translate: RecipeNode) -> Iterator[str]:
    values = {**translate, "fusion.model": translate["fusion"]["model"], "mbr.samples": translate["mbr"]["samples"]}
    for name, neutral in NEUTRAL_SETTINGS.items():
        if values[name] != neutral:
            yield f"translate.{name} is {values[name]}"


def _search_differences(search: RecipeNode) -> Iterator[str]:
    match search:
        case {"type": "greedy"} | {"type": "beam", "size": 1}:
            return
        case {"type": "beam", "length_penalty": {"type": str(penalty)}}:
            if penalty != "average" or not search["length_penalty"]["alpha"] > 0:
                yield f"translate.search.length_penalty is {penalty}"
            for name, same in (("stop_rule", "finished"), ("coverage_penalty", 0.0), ("keep_greedy", False)):
                if search[name] != same:
                    yield f"translate.search.{name} is {search[name]}"
        case _:
            yield f"translate.search is {search['type']}"
