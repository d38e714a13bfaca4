"""Check that a model fits its data, objective, search and memory, before any data is read.

The model is built on the meta device, without memory for its weights. What a search or an export format needs of a
model, for training and for loading alike, is in inference/capabilities.py.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Never

import torch

from weft.checkpoints.model_folder import find_model
from weft.checkpoints.trained_model import load_model_recipe, meta_device
from weft.config.recipe import Recipe
from weft.config.schema import unwrap_factory
from weft.core.codec import NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.core.errors import ConfigError, ConfigProblem, UserError
from weft.core.hardware import total_memory
from weft.core.state import State
from weft.core.tracing import trace_tensors
from weft.decoding.constraints.word_trie import read_word_list
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.inference.capabilities import decoding_problems
from weft.losses.frame_losses import CTCLoss, JointCTCLoss, PositionCrossEntropyLoss
from weft.losses.minimum_risk import MinimumRiskLoss
from weft.losses.objective import ObjectiveContext
from weft.losses.word_loss import WordLoss
from weft.models.build import build_model
from weft.models.model import Model, count_parameters, freeze_slots, slot_parameters, trainable_parameters
from weft.nn.memory import Memory
from weft.text.text_config import codec_trainers

BYTES_PER_WEIGHT = 4
MAX_TENSORS = 10_000
TOO_LARGE = f"its sizes are too large: a tensor exceeds the maximum, or there are more than {MAX_TENSORS:,}"
PLACEHOLDER_VOCABULARY = (*SPECIAL_TOKENS, "a", "b")  # as long as the real one is unknown


class OutputStructure(NamedTuple):
    """Which outputs a model has. blank: whether its frame head has a CTC blank; None if there is no frame head."""

    decoder: bool
    blank: bool | None


DECODER_ONLY = OutputStructure(decoder=True, blank=None)
CTC_ONLY, DECODER_AND_CTC = OutputStructure(decoder=False, blank=True), OutputStructure(decoder=True, blank=True)
POSITIONS_ONLY = OutputStructure(decoder=False, blank=False)
STRUCTURE_BY_OBJECTIVE: dict[type, OutputStructure] = {  # all other objectives train a decoder
    CTCLoss: CTC_ONLY,
    JointCTCLoss: DECODER_AND_CTC,
    PositionCrossEntropyLoss: POSITIONS_ONLY,
}
STRUCTURE_DESCRIPTIONS = {  # with what to do about a model that has this structure
    DECODER_ONLY: ("a decoder alone", "take cross-entropy or another objective of decoders"),
    CTC_ONLY: ("a frame head of the type ctc alone", "take the objective ctc"),
    DECODER_AND_CTC: ("a decoder and a frame head of the type ctc", "take the objective joint-ctc"),
    POSITIONS_ONLY: ("a frame head without a blank alone", "take the objective position-cross-entropy"),
    OutputStructure(decoder=True, blank=False): (
        "a decoder and a frame head without a blank",
        "remove one of them, since no objective trains both",
    ),
}


def collect_problems(place: str, make: Callable[[], object]) -> list[ConfigProblem]:
    """Return the problems that `make` raises; those without a place of their own get this one."""
    try:
        make()
    except ConfigError as error:
        return error.problems
    except UserError as error:
        return [ConfigProblem(place, str(error))]
    return []


def model_problems(recipe: Recipe) -> list[ConfigProblem]:
    """Return everything in which the model does not fit the rest of the recipe."""
    built: list[Model] = []
    if problems := collect_problems("model", lambda: built.append(build_on_meta(recipe))):
        return problems
    (model,) = built
    return [
        *_size_problems(recipe, model),
        *_objective_problems(recipe, model),
        *_freeze_problems(recipe, model),
        *_structure_problems(recipe, model),
    ]


def build_on_meta(recipe: Recipe) -> Model:
    with meta_device(MAX_TENSORS, TOO_LARGE):
        return build_model(recipe.model, PLACEHOLDER_VOCABULARY, PLACEHOLDER_VOCABULARY, joint=recipe.text.joint)


def _size_problems(recipe: Recipe, model: Model) -> Iterator[ConfigProblem]:
    """Yield too few positions, too little memory for the weights alone, and a wrong number of sides."""
    max_length, frame_head = recipe.data.max_length, model.frame_head
    for name, limit in (
        ("source", model.source.max_length),
        ("target", model.target.max_length),
        ("frame_head", None if frame_head is None else frame_head.max_length),
    ):
        if limit is not None and limit < max_length + 1:
            text = f"is {max_length}, but model.{name} has positions for {limit} tokens, EOS included"
            yield ConfigProblem("data.max_length", text)
    memory, needed = total_memory(), BYTES_PER_WEIGHT * count_parameters(model)
    if memory is not None and needed > memory:
        text = f"needs {needed / 2**30:,.0f} GiB for its weights, and this machine has {memory / 2**30:,.0f} GiB"
        yield ConfigProblem("model", f"{text} of memory: make it smaller")
    if recipe.data.monolingual and not model.is_language_model:
        text = "true, but this model reads a source: write the type none for model.source and model.encoder"
        yield ConfigProblem("data.monolingual", text)
    elif model.is_language_model and not recipe.data.monolingual:
        text = "none, so a source would not be read: write data.monolingual: true, and one text file as data.train"
        yield ConfigProblem("model.encoder", text)


def _objective_problems(recipe: Recipe, model: Model) -> list[ConfigProblem]:
    """Build the objective without data; one that needs data is built later."""

    class DataNotReadError(Exception):
        pass

    def raise_data_not_read(*_: object) -> Never:
        raise DataNotReadError

    def load(name: str) -> Model:
        folder = Path(name).expanduser()
        check_scores_tokens(build_on_meta(load_model_recipe(folder)), recipe.data.max_length, folder)
        return model

    context = ObjectiveContext(
        raise_data_not_read, load, counts=raise_data_not_read, has_attention=lambda: returns_attention(model)
    )
    try:
        return collect_problems("objective", lambda: recipe.objective(context))
    except DataNotReadError:
        return []


def _freeze_problems(recipe: Recipe, model: Model) -> Iterator[ConfigProblem]:
    for slot in recipe.train.freeze:
        if not slot_parameters(model, slot):
            yield ConfigProblem("train.freeze", f"the {slot} of this model has no weights: omit it")
    freeze_slots(model, recipe.train.freeze)
    if not trainable_parameters(model):
        yield ConfigProblem("train.freeze", "everything is frozen, so nothing can be learned: omit some of it")


def _structure_problems(recipe: Recipe, model: Model) -> Iterator[ConfigProblem]:
    """Yield objectives, tokenizers and decoding settings that need other outputs than the model has."""
    structure = OutputStructure(model.has_decoder, None if model.frame_head is None else model.frame_head.blank)
    objective, settings = unwrap_factory(recipe.objective)
    needed = STRUCTURE_BY_OBJECTIVE.get(objective, DECODER_ONLY)
    if needed != structure:
        description, advice = STRUCTURE_DESCRIPTIONS[structure]
        text = f"trains {STRUCTURE_DESCRIPTIONS[needed][0]}, but this model has {description}: {advice}"
        yield ConfigProblem("objective", text)
    weight = settings.get("cross_entropy_weight")
    if objective is MinimumRiskLoss and not weight and recipe.train.initial_model is None:
        text = (
            "is missing: minimum risk training samples from the model, and samples of an untrained one are noise. Give "
            "the folder of a trained model, or set objective.cross_entropy_weight"
        )
        yield ConfigProblem("train.initial_model", text)
    if structure.blank is not None and _target_dropout(recipe):
        text = "segments targets anew in each epoch, so it is unknown whether they fit into the frames: write 0"
        yield ConfigProblem("text.source.dropout" if recipe.text.target is None else "text.target.dropout", text)
    if recipe.text.target_order == "backward" and objective is WordLoss:
        text = "backward, but the objective word-loss finds words from left to right: write forward"
        yield ConfigProblem("text.target_order", text)
    yield from decoding_problems(model, recipe.translate)
    yield from _decoding_file_problems(recipe, model)


def _target_dropout(recipe: Recipe) -> float:
    try:
        return codec_trainers(recipe.text)[1].dropout
    except UserError:  # which recipe_checks.py reports
        return 0.0


def _decoding_file_problems(recipe: Recipe, model: Model) -> Iterator[ConfigProblem]:
    """Yield problems of word lists, language models and frame decoders, as far as they are known without tokenizers."""
    settings = recipe.translate
    if settings.word_list is not None and model.has_decoder:
        path = Path(settings.word_list).expanduser()
        yield from collect_problems(
            "translate.word_list", lambda: read_word_list(path, _placeholder_encode, len(PLACEHOLDER_VOCABULARY))
        )
    folder = settings.fusion.model
    if folder is not None:
        yield from collect_problems("translate.fusion.model", lambda: find_model(Path(folder).expanduser()))
    if not model.has_decoder and model.frame_head is not None:
        context = FrameDecoderContext(
            model.frame_head.blank, PLACEHOLDER_VOCABULARY, _placeholder_encode, _placeholder_language_model
        )
        validation = recipe.train.validation
        yield from collect_problems("train.validation.frame_decoder", lambda: validation.frame_decoder(context))
        yield from collect_problems("translate.frame_decoder", lambda: settings.frame_decoder(context))


def _placeholder_encode(lines: Sequence[str]) -> list[list[int]]:
    return [[NUM_SPECIAL_TOKENS] * len(line) for line in lines]


def _placeholder_language_model(folder: str) -> LanguageModel:
    """Raise UserError if the folder has no model; the language model itself is loaded when the vocabulary is known."""
    find_model(Path(folder).expanduser())

    def raise_not_loaded(*_: object) -> Never:
        raise UserError(f"{folder} has not been loaded yet")

    return LanguageModel(raise_not_loaded, State((), ()))


def check_scores_tokens(model: Model, max_length: int, folder: Path) -> None:
    """Raise UserError if the model in `folder` cannot score every target token of every pair."""
    if not model.has_decoder:
        raise UserError(f"{folder}: that model has no decoder, so it does not predict next tokens: name one that has")
    for side, limit in (("source", model.source.max_length), ("target", model.target.max_length)):
        if limit is not None and limit < max_length + 1:
            raise UserError(
                f"{folder}: that model has {side} positions for {limit} tokens, EOS included, but data.max_length is "
                f"{max_length}: write {limit - 1} there, or less"
            )


@torch.no_grad()
def returns_attention(model: Model) -> bool:
    """Return whether the decoder returns attention, by running one step; on the meta device this computes nothing."""
    if not model.has_decoder:
        return False
    like, sizes = next(model.parameters()), model.encoder.sizes
    positions = 1 if sizes.keys else 0
    keys, values = (like.new_zeros(1, positions, width) for width in (sizes.keys, sizes.values))
    final = tuple(tuple(tuple(like.new_zeros(1, width) for width in parts) for parts in ways) for ways in sizes.final)
    memory = Memory(keys, values, torch.ones(1, positions, dtype=torch.bool, device=like.device), final)
    with trace_tensors():  # avoids kernels that need real numbers
        output, _ = model.decoder(like.new_zeros(1, 1, model.target.dim), model.decoder.start(memory))
    return output.attention is not None
