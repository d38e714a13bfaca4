"""Check a recipe before any data is read: settings that are valid one by one but contradict each other, files that
cannot be read, a model that does not fit its data, objective, search and memory. All problems are reported at once.

The model is built on the meta device, without memory for its weights. What a search or an export format needs of a
model, for training and for loading alike, is in inference/capabilities.py.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Never

import torch

from weft.checkpoints.model_folder import find_model
from weft.checkpoints.trained_model import load_model_recipe, meta_device
from weft.config.recipe import Recipe
from weft.config.schema import unwrap_factory
from weft.config.serialization import to_dict
from weft.core.errors import ConfigError, ConfigProblem, UserError
from weft.core.extras import require_extra
from weft.core.hardware import total_memory
from weft.core.special_tokens import NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.core.state import State
from weft.core.tracing import trace_tensors
from weft.data.languages import language_pair_problem
from weft.data.pair_files import require_matching_files
from weft.decoding.constraints.word_trie import read_word_list
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.inference.capabilities import decoding_problems
from weft.losses.frame_losses import CTCLoss, JointCTCLoss, PositionCrossEntropyLoss
from weft.losses.minimum_risk import MinimumRiskLoss
from weft.losses.objective import ObjectiveContext
from weft.losses.word_loss import WordLoss
from weft.metrics.corpus_metrics import METRICS
from weft.models.build import build_model
from weft.models.model import Model, count_parameters, freeze_slots, slot_parameters, trainable_parameters
from weft.nn.encoder_memory import Memory
from weft.text.text_config import codec_trainers, dropout_rates, source_modality
from weft.training.distributed import RankGroup
from weft.training.mixed_precision import check_precision
from weft.training.time_budget import UNKNOWN_STEPS
from weft.training.validation import LOSS_METRICS
from weft.training.warm_start import check_initial_model, check_optimizer_state

MISSING_FILE_ADVICE = {
    "train": "",
    "valid": ". To validate on a tenth of the training data instead: data.valid=[] data.validation_fraction=0.1",
    "test": ". To do without: data.test=[]",
}
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


def check_recipe(recipe: Recipe, ranks: RankGroup | None = None, *, resumes: bool = False) -> None:
    """Raise ConfigError with every problem.

    ranks: the processes that train, if they are known. resumes: the run has started, so its initial model may be gone.
    """
    problems = [
        *_data_problems(recipe),
        *_length_problems(recipe),
        *collect_problems("text", lambda: codec_trainers(recipe.text)),
        *_modality_problems(recipe),
        *model_problems(recipe),
        *_validation_problems(recipe),
        *collect_problems("train.validation.search", recipe.train.validation.search),
        *collect_problems("translate.search", recipe.translate.search),
    ]
    if ranks is not None:
        problems += _distributed_problems(recipe) if ranks.world_size > 1 else ()
        problems += collect_problems("train.precision", lambda: check_precision(recipe, ranks))
        if recipe.train.tensorboard and ranks.rank == 0:
            problems += collect_problems("train.tensorboard", partial(require_extra, "tensorboard", "true"))
    if not resumes:
        problems += collect_problems("train.initial_model", lambda: check_initial_model(recipe))
        problems += collect_problems("train.keep_optimizer", lambda: check_optimizer_state(recipe))
    if problems:
        raise ConfigError(problems)


def _data_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    data = recipe.data
    files = "one text file" if data.monolingual else "two text files, or one .tsv or .jsonl"
    if not data.train and not data.mix:
        yield ConfigProblem("data.train", f"names no files: give {files}")
    if data.train and data.mix:
        text = "names the training data, and so does data.train: put all of it into the mix, and write train: []"
        yield ConfigProblem("data.mix", text)
    for number, corpus in enumerate(data.mix):
        if not corpus.files:
            yield ConfigProblem(f"data.mix.{number}.files", f"names no files: give {files}")
    if problem := language_pair_problem(data.languages):
        yield ConfigProblem("data.languages", problem)
    elif data.languages and data.monolingual:
        yield ConfigProblem("data.languages", "names two, but a language model has no source: write []")
    if data.validation_fraction and data.valid:
        text = "holds out pairs for validation, but data.valid names files: omit one of them"
        yield ConfigProblem("data.validation_fraction", text)


def _length_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    settings = recipe.train
    if settings.steps is None and settings.minutes is None:
        yield ConfigProblem("train.steps", "is null, and so is train.minutes: give one of the two")
    elif settings.steps is not None and settings.minutes is not None:
        text = "is set, and so is train.steps: write train.steps=null for a time budget, or set this to null"
        yield ConfigProblem("train.minutes", text)
    if settings.minutes is not None and settings.schedule(UNKNOWN_STEPS).open_fraction == 0.0:
        text = (
            "needs the number of steps from the start, but a time budget fixes it only after a while: use "
            "warmup-stable-decay or inverse-square-root, or give train.steps"
        )
        yield ConfigProblem("train.schedule", text)


def _modality_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    """Yield what does not fit a language model, or a source of images."""
    if recipe.data.monolingual and not recipe.text.joint:
        yield ConfigProblem("text.joint", "false, but data.monolingual has one side only: write joint: true")
    if recipe.data.monolingual and recipe.text.tag_tokens:
        yield ConfigProblem(
            "text.tag_tokens", "true, but a language model carries nothing into a translation: write false"
        )
    if recipe.data.monolingual and recipe.train.validation.lines:
        text = "a language model translates no lines: write 0, and train.validation.best_metric: perplexity"
        yield ConfigProblem("train.validation.lines", text)
    source, target = (to_dict(make)["type"] for make in (recipe.model.source, recipe.model.target))
    reads_images, pixels = source_modality(recipe.text) == "image", source == "pixels"
    if reads_images and not pixels:
        yield ConfigProblem("model.source", "embeds text, but text.source reads images: write the type pixels")
    elif pixels and not reads_images:
        text = "pixels, but text.source is text: write text.source: image, or the type tokens"
        yield ConfigProblem("model.source", text)
    if target == "pixels":
        yield ConfigProblem("model.target", "pixels, but images can only be a source: write the type tokens")


def _validation_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    settings = recipe.train.validation
    for name in settings.metrics:
        if name not in METRICS:
            text = f"unknown metric {name!r}: use one of {', '.join(METRICS)}"
            yield ConfigProblem("train.validation.metrics", text)
    measured = (*LOSS_METRICS, *(settings.metrics if settings.lines else ()))
    if settings.best_metric not in measured:
        text = f"{settings.best_metric!r} is not measured: choose from {', '.join(measured)}"
        yield ConfigProblem("train.validation.best_metric", text)
    if settings.patience is not None and not (recipe.data.valid or recipe.data.validation_fraction):
        yield ConfigProblem("train.validation.patience", "there is no validation data: name files in data.valid")


def _distributed_problems(recipe: Recipe) -> Iterator[ConfigProblem]:
    """Yield what several processes do not support.

    FSDP gathers a layer whenever it is entered: all ranks must do so equally often, or they would wait forever.
    """
    for name in ("source", "target", "head"):
        if to_dict(recipe.model)[name].get("sparse"):
            text = "true, but sparse gradients need a single process: write false, or start without torchrun"
            yield ConfigProblem(f"model.{name}.sparse", text)
    objective = to_dict(recipe.objective)
    inputs = objective.get("decoder_input", {})
    stepwise = inputs.get("type") == "free-running" or inputs.get("method") == "stepwise"
    if recipe.train.parallel == "fsdp" and (stepwise or objective["type"] == "minimum-risk"):
        text = "fsdp, but with this objective the model generates token by token, a different number in each process"
        yield ConfigProblem("train.parallel", f"{text}: write ddp")


def check_data_files(recipe: Recipe, generated: Collection[Path] = ()) -> None:
    """Raise ConfigError with every data file that cannot be read. generated: files that do not exist yet."""
    problems = []
    for name, corpora in recipe.data.files().items():
        for path in (path for files in corpora for path in files if path not in generated):
            for place, text in collect_problems(f"data.{name}", partial(require_matching_files, path)):
                is_misspelled = text.endswith("?")  # a similar name exists
                problems.append(ConfigProblem(place, text if is_misspelled else text + MISSING_FILE_ADVICE[name]))
    if problems:
        raise ConfigError(problems)


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
    if structure.blank is not None and recipe.text.tag_tokens:
        text = "inserts tags anew in each epoch, so it is unknown whether targets fit into the frames: write false"
        yield ConfigProblem("text.tag_tokens", text)
    if recipe.text.target_order == "backward" and objective is WordLoss:
        text = "backward, but the objective word-loss finds words from left to right: write forward"
        yield ConfigProblem("text.target_order", text)
    yield from decoding_problems(model, recipe.translate)
    yield from _decoding_file_problems(recipe, model)


def _target_dropout(recipe: Recipe) -> float:
    try:
        return dropout_rates(recipe.text)[1]
    except UserError:  # which check_recipe reports
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
