"""Start a run from a trained model: its weights, its tokenizers and, optionally, its optimizer state."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from weft.checkpoints.checkpoint import checkpoint_paths, load_newest_checkpoint
from weft.checkpoints.trained_model import TrainedModel, load_model, load_model_recipe
from weft.config.inference_config import InferenceConfig
from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.core.special_tokens import SPECIAL_TOKENS
from weft.models.build import build_model
from weft.models.model import freeze_slots, trainable_parameters
from weft.training.run_folder import RunFolder, setting_differences

# Settings that end so may differ: weights and token ids do not depend on them.
WEIGHT_INDEPENDENT_SUFFIXES = ("dropout", "sample_size", "sparse")


def expand_path(folder: str) -> Path:
    return Path(folder).expanduser()


def load_initial_model(recipe: Recipe) -> TrainedModel | None:
    """Load the model that train.initial_model names, if it is set."""
    return None if recipe.train.initial_model is None else load_model(expand_path(recipe.train.initial_model))


def check_initial_model(recipe: Recipe) -> None:
    """Raise UserError if train.initial_model is no model, or another one than this recipe describes."""
    initial = recipe.train.initial_model
    if initial is None:
        if recipe.train.keep_optimizer:
            raise UserError("is missing, but train.keep_optimizer is true: name the run whose optimizer to keep")
        return
    if different := weight_setting_differences(load_model_recipe(expand_path(initial)), recipe):
        # a type explains the others
        place, theirs, ours = min(different, key=lambda difference: (not difference[0].endswith(".type"), difference))
        more = f" (and {len(different) - 1} more)" if len(different) > 1 else ""
        raise UserError(
            f"{initial} holds another model: {place} is {theirs} there and {ours} here{more}. "
            "Weights and tokenizers can be reused only if model and text are the same: start from the recipe of that "
            "run, its config.yaml"
        )


def check_optimizer_state(recipe: Recipe) -> None:
    """Raise UserError if the optimizer state of train.initial_model is missing or of another optimizer."""
    if recipe.train.initial_model is None or not recipe.train.keep_optimizer:
        return
    folder = expand_path(recipe.train.initial_model)
    theirs, ours = (to_dict(one.train.optimizer) for one in (load_model_recipe(folder), recipe))
    if theirs != ours:
        raise UserError(
            f"true, but the optimizer of {folder} was {theirs}, and train.optimizer is {ours}: "
            "write false (weft finetune: omit --keep-optimizer)"
        )
    if not checkpoint_paths(RunFolder(folder).checkpoints):
        raise UserError(
            f"true, but {folder} has no checkpoints, which hold the optimizer state: name the run folder (the --out "
            "of weft train), not the model inside it, or write false (weft finetune: omit --keep-optimizer)"
        )


def load_optimizer_state(recipe: Recipe, report: Callable[[str], None]) -> dict[str, Tensor]:
    """Load the optimizer state of train.initial_model, numbered as the weights of this run."""
    folder = expand_path(str(recipe.train.initial_model))
    state = load_newest_optimizer_state(folder, report)
    return renumber_optimizer_state(state, trainable_names(load_model_recipe(folder)), trainable_names(recipe))


def load_newest_optimizer_state(folder: Path, report: Callable[[str], None]) -> Mapping[str, Tensor]:
    """Load the optimizer state of the newest checkpoint of a run; empty if there is none."""
    checkpoint = load_newest_checkpoint(RunFolder(folder).checkpoints, report)
    return {} if checkpoint is None else checkpoint.groups["optimizer"]


def renumber_optimizer_state(state: Mapping[str, Tensor], old: Sequence[str], new: Sequence[str]) -> dict[str, Tensor]:
    """Renumber the state from the trainable weights `old` to `new`; omit that of weights that are frozen now."""
    numbers = {name: number for number, name in enumerate(new)}
    renumbered = {}
    for key, tensor in state.items():
        prefix, number, name = split_state_key(key)
        if old[number] in numbers:
            renumbered[f"{prefix}{numbers[old[number]]}.{name}"] = tensor
    return renumbered


def split_state_key(key: str) -> tuple[str, int, str]:
    """Split the name of an optimizer state such as rows.2.mean into prefix (rows.), weight number (2) and name."""
    *prefix, number, name = key.split(".")
    return "".join(f"{part}." for part in prefix), int(number), name


def trainable_names(recipe: Recipe) -> list[str]:
    """Return the names of the trainable weights, in order; they do not depend on the vocabulary."""
    with torch.device("meta"):
        model = build_model(recipe.model, SPECIAL_TOKENS, SPECIAL_TOKENS, joint=recipe.text.joint)
    freeze_slots(model, recipe.train.freeze)
    return list(trainable_parameters(model))


def weight_setting_differences(one: InferenceConfig, other: InferenceConfig) -> list[tuple[str, str, str]]:
    """Return place and both values of each setting that differs and that weights and token ids depend on."""
    return [
        (place, before, now)
        for place, before, now in setting_differences(to_dict(one), to_dict(other))
        if place.startswith(("model.", "text.")) and not place.endswith(WEIGHT_INDEPENDENT_SUFFIXES)
    ]
