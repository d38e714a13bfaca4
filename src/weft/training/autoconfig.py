"""Choose a recipe for data files: profile the corpus, measure the speed of matrix products, and apply rules of thumb.

The rules hold for one machine and at most some hours, and were found with the benchmarks of this project. Each setting
is chosen with its reason. Text gets a Transformer; images of text lines get convolutions, a bidirectional LSTM and CTC.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

import torch

from weft.config.recipe import load_recipe
from weft.config.yaml_files import PlainData
from weft.core.codec import LineError
from weft.core.errors import UserError
from weft.core.formatting import format_minutes
from weft.core.hardware import select_device
from weft.core.seeds import reservoir_sample
from weft.data.corpus import Corpus
from weft.data.image_codec import ImageCodec, is_image_name
from weft.training.commented_recipe import (
    CommentedRecipe,
    make_commented_recipe,
    overridden_places,
    refuse_settings,
    warmup_stable_decay,
)
from weft.training.corpus_profile import CorpusProfile, SideProfile, profile_corpus

MATMUL_ROWS, MATMUL_WIDTH, MATMUL_HIDDEN = 4096, 256, 1024  # about those of a feed-forward layer
MATMUL_SECONDS = 0.3
DEFAULT_MINUTES = 60.0
PROFILE_SEED = 1

TRAINING_EFFICIENCY = 0.45  # of the speed of matrix products
TARGET_UPDATES = 1500
MAX_BATCH_TOKENS, MIN_BATCH_TOKENS = 4096, 1024
HOLDOUT_PAIRS = 1000  # pairs held out of a large corpus
MIN_PAIRS_FOR_HOLDOUT = 200  # of a smaller corpus, none are held out
VOCABULARY_SIZES = ((5_000, 1000), (10_000, 2000), (20_000, 4000), (500_000, 8000), (5_000_000, 16_000))
DROPOUT_BY_EPOCHS = ((4, 0.05), (12, 0.1), (25, 0.2))
MAX_DROPOUT = 0.3

IMAGE_HEIGHT = 32
SNIFFED_LINES = 20  # to find out whether a source names images
IMAGE_SAMPLE = 200  # images that are opened
FLOPS_PER_COLUMN = 2e6  # forward and backward: 0.3 million multiply-adds, three times
IMAGE_EFFICIENCY = 0.25  # of the speed of matrix products
IMAGES_PER_BATCH = 48
MIN_BATCH_COLUMNS, MAX_BATCH_COLUMNS = 1024, 8192


class TransformerSize(NamedTuple):
    """A Transformer, and what it needs to be worth its time: pairs, and training tokens per weight.

    vocabulary: the most BPE tokens, since the cost of the output layer grows with them.
    """

    name: str
    layers: int
    dim: int
    heads: int
    ffn_dim: int
    min_pairs: int
    tokens_per_weight: float
    vocabulary: int


TRANSFORMER_SIZES = (
    TransformerSize("mini", 3, 128, 4, 256, 0, 0.0, 4000),
    TransformerSize("tiny", 4, 128, 4, 256, 0, 3.0, 8000),
    TransformerSize("small", 4, 256, 4, 1024, 50_000, 3.0, 16_000),
    TransformerSize("base", 6, 512, 8, 2048, 1_000_000, 3.0, 32_000),
)


class SettingChoice(NamedTuple):
    """A chosen setting. reason: a sentence that starts with the choice; None if it follows from another choice."""

    place: str  # section.setting
    value: PlainData
    reason: str | None = None


@dataclass(frozen=True)
class AutoconfigInputs:
    """The inputs of the rules. flops: per second, in matrix products. steps, joint: set by the user (None: not)."""

    profile: CorpusProfile
    minutes: float
    flops: float
    files: tuple[str, ...]
    has_validation: bool
    steps: int | None = None
    joint: bool | None = None

    def trainable_tokens(self, weights: int) -> float:
        """Return how many target tokens fit into the time, at 6 operations per weight and token (2 forward, 4 back)."""
        if self.steps is not None:
            return self.steps * MAX_BATCH_TOKENS
        return self.minutes * 60 * self.flops * TRAINING_EFFICIENCY / (6 * weights)


def choose_recipe(
    files: Sequence[str], overrides: Sequence[str], minutes: float | None, device: str
) -> CommentedRecipe:
    """Choose a recipe for the files and this machine; overrides take precedence."""
    torch_device = select_device(device)
    settings = load_recipe({}, ["train.steps=null", *overrides])
    places = overridden_places(overrides)
    reserved = f"{' and '.join(files)} should be trained on"
    refuse_settings(overrides, {"data.train": reserved, "data.folder": reserved})
    first_pairs = islice(Corpus(files, settings.data.fields).pairs(), SNIFFED_LINES)
    first_sources = [source for source, _ in first_pairs if source.strip()]
    has_images = bool(first_sources) and all(map(is_image_name, first_sources))
    corpus = Corpus(files, settings.data.fields, modality="image" if has_images else "text")
    inputs = AutoconfigInputs(
        profile=profile_corpus(corpus.pairs(), PROFILE_SEED),
        minutes=minutes or settings.train.minutes or DEFAULT_MINUTES,
        flops=matmul_flops(torch_device),
        files=tuple(files),
        has_validation=bool(settings.data.valid),
        steps=settings.train.steps if minutes is None else None,
        joint=settings.text.joint if "text.joint" in places else None,
    )
    if has_images:
        choices = choose_image_settings(inputs, max_image_width(corpus, PROFILE_SEED))
    else:
        choices = choose_text_settings(inputs)
    document, reasons = choices_to_document(choices), {one.place: one.reason for one in choices if one.reason}
    heading, purpose = "chosen from the data and the time:", "these files"
    return make_commented_recipe(document, reasons, overrides, heading=heading, purpose=purpose)


def choices_to_document(choices: Iterable[SettingChoice]) -> dict[str, PlainData]:
    """Return the settings as a recipe file has them; choices of a section must be adjacent."""
    return {
        section: {choice.place.partition(".")[2]: choice.value for choice in chosen}
        for section, chosen in groupby(choices, key=lambda choice: choice.place.partition(".")[0])
    }


def matmul_flops(device: torch.device) -> float:
    """Measure floating-point operations per second, in products of the size that is typical of models here."""
    left = torch.ones(MATMUL_ROWS, MATMUL_WIDTH, device=device)
    right = torch.ones(MATMUL_WIDTH, MATMUL_HIDDEN, device=device)
    seconds: list[float] = []
    end = time.perf_counter() + MATMUL_SECONDS
    while time.perf_counter() < end or len(seconds) < 3:
        start = time.perf_counter()
        (left @ right).sum().item()  # waits for the device
        seconds.append(time.perf_counter() - start)
    return 2 * MATMUL_ROWS * MATMUL_WIDTH * MATMUL_HIDDEN / min(seconds)


def choose_text_settings(inputs: AutoconfigInputs) -> list[SettingChoice]:
    """Return the settings of a recipe for text on both sides."""
    profile, target = inputs.profile, inputs.profile.target
    size, weights = choose_transformer_size(inputs)
    joint = inputs.joint
    if joint is None:
        joint = profile.source.kind == target.kind != "symbols" and profile.shared_letters >= 0.5
    updates, batch = inputs.steps, MAX_BATCH_TOKENS
    if not updates:
        tokens = inputs.trainable_tokens(weights)
        batch = max(MIN_BATCH_TOKENS, min(MAX_BATCH_TOKENS, 256 * round(tokens / TARGET_UPDATES / 256)))
        updates = max(50, round(tokens / batch))
    batch_reason = f"{batch:,} tokens a batch: smaller ones if time is short, for more updates"
    warmup = max(10, min(500, round(updates / 8)))
    warmup_reason = f"{warmup} warmup steps, an eighth of the run, between 10 and 500"
    validation_reason = "every {every} steps, by translating at most {lines} lines"
    return [
        *data_settings(inputs),
        *_tokenizer_settings(profile, size, joint=joint),
        *_model_settings(inputs, size, weights, joint=joint),
        *length_settings(inputs, updates),
        SettingChoice("train.batch_tokens", batch, batch_reason),
        SettingChoice("train.schedule", warmup_stable_decay(4e-3, warmup), warmup_reason),
        *validation_settings(inputs, updates, metrics_for(target), validation_reason, search="greedy"),
        _search_setting(target),
        *_split_setting(profile),
    ]


def _split_setting(profile: CorpusProfile) -> list[SettingChoice]:
    """Return the setting that keeps lines whole, unless lines are single sentences."""
    reason = None
    if "sentences" not in (profile.source.kind, profile.target.kind):
        reason = f"lines of {profile.source.kind} are not split into sentences"
    elif profile.source.several_sentences > 0.5:
        share = round(100 * profile.source.several_sentences)
        reason = f"{share}% of the training lines have several sentences, so that lines are translated whole"
    return [] if reason is None else [SettingChoice("translate.split_sentences", False, reason)]


def choose_transformer_size(inputs: AutoconfigInputs) -> tuple[TransformerSize, int]:
    """Return the largest size for which data and time suffice, and its approximate number of weights."""
    fitting = []
    for size in TRANSFORMER_SIZES:
        vocabulary = 300  # classes of the output layer for letters or symbols
        if inputs.profile.target.kind == "sentences":
            vocabulary = _vocabulary_size(inputs.profile.pairs, size)
        # matrix products: attention 4 D² (twice in the decoder), feed-forward 2 D H, and the output layer V D
        encoder, decoder = (n * 4 * size.dim**2 + 2 * size.dim * size.ffn_dim for n in (1, 2))
        weights = size.layers * (encoder + decoder) + vocabulary * size.dim
        enough_time = inputs.trainable_tokens(weights) >= size.tokens_per_weight * weights
        if inputs.profile.pairs >= size.min_pairs and enough_time:
            fitting.append((size, weights))
    return fitting[-1]


def _vocabulary_size(pairs: int, size: TransformerSize) -> int:
    chosen = (vocabulary for limit, vocabulary in VOCABULARY_SIZES if pairs < limit)
    return min(next(chosen, size.vocabulary), size.vocabulary)


def data_settings(inputs: AutoconfigInputs) -> Iterator[SettingChoice]:
    yield SettingChoice("data.train", list(inputs.files))
    if not inputs.has_validation:
        pairs = inputs.profile.pairs
        share = holdout_share(pairs)
        reason = f"about {round(share * pairs):,} pairs are held out for validation, since data.valid is not set"
        if not share:
            reason = f"no pairs are held out for validation: there are only {pairs:,}"
        yield SettingChoice("data.validation_fraction", share, reason)


def holdout_share(pairs: int) -> float:
    """Return the share of pairs to hold out for validation; 0 if there are few."""
    return 0.0 if pairs < MIN_PAIRS_FOR_HOLDOUT else float(f"{min(0.1, HOLDOUT_PAIRS / pairs):.2g}")


def _tokenizer_settings(profile: CorpusProfile, size: TransformerSize, *, joint: bool) -> Iterator[SettingChoice]:
    vocabulary = _vocabulary_size(profile.pairs, size)
    source, source_reason = _choose_tokenizer(profile.source, vocabulary)
    target, target_reason = _choose_tokenizer(profile.target, vocabulary)
    yield SettingChoice("text.source", source, source_reason.format("source"))
    yield SettingChoice("text.target", None if joint else target, None if joint else target_reason.format("target"))
    reason = f"{profile.shared_letters:.0%} of the letters of one side are used on the other too"
    if profile.source.kind != profile.target.kind:
        reason = "the sides are written in different ways"
    yield SettingChoice("text.joint", joint, f"{'one vocabulary' if joint else 'a vocabulary per side'}: {reason}")


def _choose_tokenizer(side: SideProfile, vocabulary: int) -> tuple[dict[str, PlainData], str]:
    """Return a tokenizer and its reason, with {} for the name of the side."""
    match side.kind:
        case "symbols":
            text = f"symbols as they are, since a {{}} line has {side.words:.1f} of {side.distinct_words} symbols"
            return {"type": "whitespace"}, text
        case "words":
            return {"type": "character"}, f"letters, since a {{}} line is a word ({side.letters:.1f} letters)"
        case "sentences":
            text = f"since a {{}} line is a sentence ({side.words:.1f} words, {side.letters:.0f} letters)"
            return {"type": "bpe", "vocab_size": vocabulary}, f"BPE with {vocabulary:,} tokens, {text}"


def _model_settings(
    inputs: AutoconfigInputs, size: TransformerSize, weights: int, *, joint: bool
) -> Iterator[SettingChoice]:
    target = inputs.profile.target
    subwords = target.letters / 1.5 if target.spaceless > 0.5 else 1.2 * target.words
    tokens_per_line = {"symbols": target.words, "words": target.letters, "sentences": subwords}[target.kind]
    epochs = inputs.trainable_tokens(weights) / (inputs.profile.pairs * (tokens_per_line + 1))
    dropout = next((dropout for limit, dropout in DROPOUT_BY_EPOCHS if epochs < limit), MAX_DROPOUT)
    embedding: dict[str, PlainData] = {"type": "tokens", "dim": size.dim, "positions": "sinusoidal", "dropout": dropout}
    stack: dict[str, PlainData] = {
        "type": "transformer",
        "layers": size.layers,
        "heads": size.heads,
        "ffn_dim": size.ffn_dim,
        "dropout": dropout,
    }
    reason = f"a {size.name} Transformer, {weights / 1e6:.1f} million weights: {_size_reason(inputs, size)}"
    yield SettingChoice("model.source", embedding, f"dropout {dropout:g}: each pair is used about {epochs:,.0f} times")
    yield SettingChoice("model.encoder", stack, reason)
    yield SettingChoice("model.target", embedding)
    yield SettingChoice("model.decoder", stack)
    yield SettingChoice("model.tie", "all" if joint else "output")


def _size_reason(inputs: AutoconfigInputs, size: TransformerSize) -> str:
    larger = TRANSFORMER_SIZES[TRANSFORMER_SIZES.index(size) + 1 :]
    if not larger:
        return "data and time suffice for it"
    if inputs.profile.pairs < larger[0].min_pairs:
        return f"{inputs.profile.pairs:,} pairs are too few for a larger one"
    return f"the time, {format_minutes(inputs.minutes)}, is too short for a larger one on this machine"


def metrics_for(side: SideProfile) -> list[PlainData]:
    """Return metrics, the one that chooses the best model first. BLEU needs scripts with spaces between words."""
    match side.kind:
        case "symbols":
            return ["exact", "wer"]
        case "words":
            return ["exact", "cer"]
        case "sentences":
            return ["chrf"] if side.spaceless > 0.5 else ["bleu", "chrf"]


def length_settings(inputs: AutoconfigInputs, updates: int) -> Iterator[SettingChoice]:
    if inputs.steps is None:
        reason = f"{format_minutes(inputs.minutes)}, about {round_significant(updates, 2):,} updates on this machine"
        yield SettingChoice("train.steps", None)
        yield SettingChoice("train.minutes", inputs.minutes, reason)


def validation_settings(
    inputs: AutoconfigInputs, updates: int, metrics: list[PlainData], reason: str, *, search: str | None = None
) -> Iterator[SettingChoice]:
    """Yield the average, the validation and the checkpoints. reason: with {every} steps and {lines} lines."""
    decay = min(0.998, max(0.9, float(f"{1 - 20 / updates:.3f}")))
    average: dict[str, PlainData] = {"type": "exponential", "decay": decay}
    yield SettingChoice("train.average", average, "an average of the last weights is used")
    every = round_significant(max(10, updates // max(4, min(10, round(inputs.minutes)))), 1)
    lines = max(100, min(1000, 50 * round(inputs.minutes)))
    validation: dict[str, PlainData] = {"every": every, "lines": lines, "metrics": metrics, "best_metric": metrics[0]}
    if search is not None:
        validation["search"] = search
    yield SettingChoice("train.validation", validation, reason.format(every=every, lines=lines))
    yield SettingChoice("train.checkpoint_minutes", max(1.0, min(10.0, inputs.minutes / 10)))


def _search_setting(target: SideProfile) -> SettingChoice:
    """Choose a beam that, for letters and symbols, stops only when its best output has ended.

    A model that is sure of the next letter finds all others about equally improbable, the end of the output included.
    A beam that stops when it is full of finished outputs may then contain only those, before the best has ended.
    """
    if target.kind == "sentences":
        return SettingChoice("translate.search", {"type": "beam", "size": 5})
    reason = "a beam of 5 that continues until the best output has ended"
    return SettingChoice("translate.search", {"type": "beam", "size": 5, "stop_rule": "top"}, reason)


def round_significant(number: int, digits: int) -> int:
    return int(float(f"{number:.{digits}g}"))


def max_image_width(corpus: Corpus, seed: int) -> int:
    """Return the columns of the widest image in a random sample."""
    names = ((number, source) for number, (source, _) in enumerate(corpus.pairs()) if source.strip())
    sample = reservoir_sample(names, IMAGE_SAMPLE, seed)
    try:
        rows = ImageCodec(IMAGE_HEIGHT, invert=False).encode_rows(source for _, source in sample)
    except LineError as error:
        raise UserError(f"{corpus.location(sample[error.row][0])}: {error}") from error
    return int(rows.lengths.max(initial=1))


def choose_image_settings(inputs: AutoconfigInputs, columns: int) -> list[SettingChoice]:
    """Return the settings of a recipe for images of up to about `columns` columns."""
    batch = max(MIN_BATCH_COLUMNS, min(MAX_BATCH_COLUMNS, 256 * round(IMAGES_PER_BATCH * columns / 256)))
    flops = 60 * inputs.minutes * inputs.flops * IMAGE_EFFICIENCY
    updates = inputs.steps or max(50, round(flops / (FLOPS_PER_COLUMN * batch)))
    warmup = max(10, min(300, round(updates / 10)))
    max_length = 64 * -(-columns * 3 // 128)
    target = inputs.profile.target
    tokenizer, tokens = ("whitespace", "symbols as they are") if target.kind == "symbols" else ("character", "letters")
    metrics: list[PlainData] = ["cer", "exact"] if target.kind == "sentences" else metrics_for(target)
    encoders: list[PlainData] = [
        {"type": "image", "layers": 4, "channels": 16, "subsampling": 2, "dim": 128, "dropout": 0.1},
        {"type": "recurrent", "cell": {"type": "lstm", "dim": 128}, "layers": 1, "directions": "both", "dropout": 0.1},
    ]
    width_reason = f"up to {max_length} columns: the widest of some images has {columns} at a height of {IMAGE_HEIGHT}"
    image_reason = f"images, scaled to {IMAGE_HEIGHT} rows and read column by column: the source names image files"
    encoder_reason = "convolutions for the strokes, and a bidirectional LSTM for their context"
    ctc_reason = "connectionist temporal classification: letters are in the order of the columns, at unknown places"
    warmup_reason = f"{warmup} warmup steps, a tenth of the run, between 10 and 300"
    return [
        *data_settings(inputs),
        SettingChoice("data.max_length", max_length, width_reason),
        SettingChoice("text.source", {"type": "image", "height": IMAGE_HEIGHT}, image_reason),
        SettingChoice("text.target", {"type": tokenizer}, f"{tokens}, since that is what an image shows"),
        SettingChoice("text.joint", False),
        SettingChoice("model.source", "pixels"),
        SettingChoice("model.encoder", {"type": "chain", "encoders": encoders}, encoder_reason),
        SettingChoice("model.target", "none"),
        SettingChoice("model.decoder", "none"),
        SettingChoice("model.frame_head", "ctc", ctc_reason),
        SettingChoice("objective.type", "ctc"),
        *length_settings(inputs, updates),
        SettingChoice("train.batch_tokens", batch, f"{batch:,} columns a batch, some {IMAGES_PER_BATCH} images"),
        SettingChoice("train.schedule", warmup_stable_decay(2e-3, warmup), warmup_reason),
        *validation_settings(inputs, updates, metrics, "every {every} steps, by reading at most {lines} images"),
    ]
