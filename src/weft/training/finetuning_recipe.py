"""Data and recipe of a fine-tuning run: new pairs, replayed original pairs, and the original recipe with a shorter
schedule and a lower learning rate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from weft.checkpoints.model_folder import find_run_folder
from weft.config.inference_config import InferenceConfig
from weft.config.recipe import Recipe, load_recipe
from weft.config.serialization import to_dict
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.seeds import reservoir_sample
from weft.data.corpus import Corpus, HoldoutSplit
from weft.data.data_config import DataConfig
from weft.data.pair_files import TABLE_SUFFIXES, is_table_file
from weft.models.model import Slot
from weft.text.text_config import source_modality
from weft.training.autoconfig import holdout_share
from weft.training.commented_recipe import CommentedRecipe, make_commented_recipe, refuse_settings, warmup_stable_decay
from weft.training.run_folder import PreparedRunFolder, RunFolder, TextPair
from weft.training.time_budget import length_overrides

LENGTH_SAMPLE, LENGTH_SEED = 2000, 1  # pairs whose tokens are counted
EPOCHS = 10  # over the new data
MIN_STEPS, MAX_STEP_SHARE = 50, 0.5  # of the steps of the original run
LEARNING_RATE_DIVISOR = 5
PATIENCE = 3  # validations, if the recipe has none
NO_FILES: dict[str, Any] = {"folder": "", "train": [], "mix": [], "valid": [], "test": [], "validation_fraction": 0.0}
RESERVED_SETTINGS = {
    "data.train": "the new data is named after the model",
    "data.folder": "the new data is named after the model",
    "data.mix": "--mix sets the share of original pairs",
    "train.initial_model": "the model is named first",
    "train.freeze": "--freeze sets what is frozen",
    "train.keep_optimizer": "--keep-optimizer sets that",
}


@dataclass(frozen=True)
class FinetuningOptions:
    """Options of fine-tuning. mix: original pairs per new pair. extend: at most this many new tokens (None: unknown
    letters and words only).
    """

    mix: float = 0.0
    freeze: tuple[Slot, ...] = ()
    extend: int | None = None
    keep_optimizer: bool = False
    settings: tuple[str, ...] = ()
    minutes: float | None = None


class OriginalData(NamedTuple):
    """The data that the model was trained and validated on. warning: what is wrong with it, if anything."""

    train: Corpus | None
    valid: Corpus | None
    warning: str | None


class NewData(NamedTuple):
    """The new pairs. held_out: the share of them that is used for validation."""

    files: tuple[str, ...]
    corpus: Corpus
    pairs: int
    held_out: float
    valid: Corpus | None


class ReplayCorpus(NamedTuple):
    """Original pairs that are mixed in. needs_file: no existing files contain exactly these pairs."""

    corpus: Corpus
    weight: float
    needs_file: bool


def load_original_data(folder: Path, recipe: InferenceConfig) -> OriginalData:
    """Find the data of the model in `folder`, and whether it has changed since."""
    try:
        corpora = recipe.data.splits(source_modality(recipe.text))
        now = {f"data.{name}": corpora[name].fingerprint() for name in ("train", "valid") if name in corpora}
    except UserError as error:
        return OriginalData(None, None, f"the data that {folder} was trained on cannot be read: {error}")
    before = original_fingerprints(folder)
    changed = [place for place, value in now.items() if before.get(place, value) != value]
    warning = f"the files of {changed[0]} have changed since {folder} was trained" if changed else None
    return OriginalData(corpora["train"], corpora.get("valid"), warning)


def original_fingerprints(folder: Path) -> dict[str, str]:
    """Return the fingerprints of the data as it was, if the folder is, or is in, an intact run folder."""
    run = find_run_folder(folder)
    try:
        return {} if run is None else RunFolder(run).data().fingerprints
    except UserError:
        return {}


def new_data_settings(recipe: InferenceConfig, settings: Sequence[str]) -> DataConfig:
    """Return the data section of the original recipe without its files, with the user's settings."""
    refuse_settings(settings, RESERVED_SETTINGS)
    overrides = [setting for setting in settings if setting.startswith("data.")]
    return load_recipe({"data": to_dict(recipe.data) | NO_FILES}, overrides).data


def load_new_data(files: Sequence[str], recipe: InferenceConfig, settings: DataConfig, folder: Path) -> NewData:
    """Open the new files. settings: from new_data_settings. folder: of the model, for messages."""
    monolingual, modality = recipe.data.monolingual, source_modality(recipe.text)
    if len(files) != (1 if monolingual or (len(files) == 1 and is_table_file(files[0])) else 2):
        needed = "one text file" if monolingual else f"two text files, or one of {', '.join(TABLE_SUFFIXES)}"
        raise UserError(f"got {', '.join(files) or 'no data'}, but {folder} learns from {needed}")
    corpus = Corpus(files, settings.fields, monolingual=monolingual, modality=modality)
    pairs = sum(1 for _ in corpus.pairs())
    if settings.valid:
        return NewData(tuple(files), corpus, pairs, 0.0, settings.splits(modality)["valid"])
    share = settings.validation_fraction or holdout_share(pairs)
    part = HoldoutSplit(share, is_held_out=True)
    valid = Corpus(files, settings.fields, part, monolingual=monolingual, modality=modality) if share else None
    return NewData(tuple(files), corpus, pairs, share, valid)


def replay_corpora(
    original: OriginalData, recipe: InferenceConfig, new: NewData, mix: float, fields: tuple[str, str]
) -> list[ReplayCorpus]:
    """Return the original corpora, weighted so that there are `mix` original pairs per new pair.

    fields: those of the new recipe. Pairs need a file of their own if some are held out, or their fields differ.
    """
    if original.train is None:
        raise UserError(f"{original.warning}. Put it back, or omit --mix")
    data, files, holdout = recipe.data, recipe.data.files()["train"], original.train.holdout
    other_fields = fields != data.fields and any(is_table_file(path) for paths in files for path in paths)
    modality, weights = source_modality(recipe.text), data.corpus_weights()
    corpora = [Corpus(paths, data.fields, holdout, monolingual=data.monolingual, modality=modality) for paths in files]
    used = sum(weight * sum(1 for _ in corpus.pairs()) for weight, corpus in zip(weights, corpora, strict=True))
    return [
        ReplayCorpus(corpus, weight * mix * new.pairs * (1 - new.held_out) / used, holdout is not None or other_fields)
        for corpus, weight in zip(corpora, weights, strict=True)
    ]


def corpora_to_write(
    new: NewData, replay: Sequence[ReplayCorpus], fields: tuple[str, str], recipe: InferenceConfig
) -> dict[str, Corpus]:
    """Return the corpora that need files of their own: parts of files, where other corpora are mixed in."""
    corpora = {f"original-{number}": one.corpus for number, one in enumerate(replay) if one.needs_file}
    if replay and new.held_out:
        rest = HoldoutSplit(new.held_out, is_held_out=False)
        corpora["new"] = Corpus(new.files, fields, rest, modality=new.corpus.modality)
        if new.valid is not None:
            corpora["new-valid"] = new.valid
    if corpora and (recipe.data.monolingual or source_modality(recipe.text) == "image"):
        raise UserError("--mix: name validation data, since only pairs of text can be split: data.valid=[FILE]")
    return corpora


def mean_token_count(pairs: Iterable[TextPair], codecs: Sequence[Codec]) -> float:
    """Return the mean tokens of the longer side of a pair, EOS included, over a sample."""
    sample = reservoir_sample(pairs, LENGTH_SAMPLE, LENGTH_SEED)
    sides = [codec.encode_rows([pair[side] for pair in sample]).lengths for side, codec in enumerate(codecs)]
    return float(np.maximum(*sides).mean()) + 1


def make_finetuning_recipe(
    recipe: Recipe,
    name: str,
    folder: PreparedRunFolder[Any],
    options: FinetuningOptions,
    new: NewData,
    replay: Sequence[ReplayCorpus],
    mean_tokens: float,
) -> CommentedRecipe:
    """Choose the recipe. recipe, name: of the original model. mean_tokens: of the longer side of a new pair."""
    node = to_dict(recipe)
    changes, reasons = _change_data(folder, options.mix, new, replay)
    training_changes, training_reasons = _change_training(node["train"], folder, options, new, mean_tokens)
    document = {**node, "data": node["data"] | changes, "train": node["train"] | training_changes}
    overrides = [*length_overrides(options.minutes, options.settings), *options.settings]
    heading, purpose = "chosen from the model and the new data:", f"fine-tuning {name}"
    return make_commented_recipe(document, reasons | training_reasons, overrides, heading=heading, purpose=purpose)


def _change_data(
    folder: PreparedRunFolder[Any], mix: float, new: NewData, replay: Sequence[ReplayCorpus]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data settings that differ from the original ones, and reasons by place."""
    written = bool(replay) and new.held_out > 0  # the new pairs, too, need files of their own
    files = [str(folder.pairs("new"))] if written else list(new.files)
    changes = NO_FILES | {"validation_fraction": 0.0 if written else new.held_out}
    if written:
        changes["valid"] = [str(folder.pairs("new-valid"))]
    reasons = {}
    if replay:
        originals = [
            [str(folder.pairs(f"original-{number}"))] if one.needs_file else [str(path) for path in one.corpus.names[0]]
            for number, one in enumerate(replay)
        ]
        weights = [1.0, *(one.weight for one in replay)]
        corpora = zip([files, *originals], weights, strict=True)
        changes["mix"] = [{"files": names, "weight": weight} for names, weight in corpora]
        reasons["data.mix"] = f"{format_mix(mix)}, so that less is forgotten"
    else:
        changes["train"] = files
    if count := round(new.held_out * new.pairs):
        reason = f"about {count:,} new pairs are held out for validation, since data.valid is not set"
        reasons["data.validation_fraction"] = reason
    return changes, reasons


def format_mix(mix: float) -> str:
    return f"{mix:g} original {'pair' if mix == 1 else 'pairs'} per new pair"


def _change_training(
    node: dict[str, Any], folder: PreparedRunFolder[Any], options: FinetuningOptions, new: NewData, mean_tokens: float
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the training settings that differ from the original ones, and reasons: a shorter run, a lower rate."""
    steps, steps_reason = _choose_steps(node, options.mix, new, mean_tokens)
    peak = node["schedule"]["learning_rate"]
    learning_rate = float(f"{peak / LEARNING_RATE_DIVISOR:.3g}")
    patience = node["validation"]["patience"] or PATIENCE
    validation: dict[str, Any] = {"every": max(1, steps // 10), "patience": patience, "at_start": True}
    validation_reason = f"stops after {patience} validations that are no better; the start counts as one of them"
    if new.valid is None:
        validation |= {"patience": None, "at_start": False}
        few = f"{new.pairs:,} new pairs are too few to hold some out"
        validation_reason = f"{few}, so nothing measures a gain and the last model is kept; data.valid=[FILE] validates"
    changes = {
        "initial_model": str(folder.initial_model),
        "keep_optimizer": options.keep_optimizer,
        "freeze": list(options.freeze),
        "precision": "auto",
        "steps": steps,
        "minutes": None,
        "schedule": warmup_stable_decay(learning_rate, steps // 10, decay_ratio=0.8),
        "validation": node["validation"] | validation,
    }
    if node["average"] is not None:  # over about the last tenth of the run
        changes["average"] = {"type": "exponential", "decay": float(f"{1 - 10 / max(20, steps):.4g}")}
    return changes, {
        "train.steps": steps_reason,
        "train.schedule": f"a peak of {learning_rate:g}, a fifth of {peak:g}, since the weights are good already",
        "train.validation": validation_reason,
    }


def _choose_steps(node: dict[str, Any], mix: float, new: NewData, mean_tokens: float) -> tuple[int, str]:
    pairs = new.pairs * (1 - new.held_out) * (1 + mix)
    batch = node["batch_tokens"] * node["gradient_accumulation"]
    steps = max(MIN_STEPS, round(EPOCHS * pairs * mean_tokens / batch))
    limit = None if node["steps"] is None else max(MIN_STEPS, round(MAX_STEP_SHARE * node["steps"]))
    if limit is not None and limit < steps:
        return limit, f"{limit:,} updates, half of those of the original run"
    minimum = ", the minimum" if steps == MIN_STEPS else f", about {EPOCHS} epochs"
    return steps, f"{steps:,} updates{minimum}"
