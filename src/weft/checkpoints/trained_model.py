"""Saves and loads a trained model. A model folder has all that translating needs, nothing that could run code, and
can be copied anywhere:

    weights.safetensors  config.json  source.tokenizer.json  target.tokenizer.json  metrics.json  manifest.json

With a joint vocabulary there is no target.tokenizer.json; with images as source, source.picture.json describes how they
are read; a target generated from right to left has target.backward.json. Later commands may add confidence.json and
shortlist.safetensors (model_folder.py).

Names, shapes and dtypes are compared with the configured model on the meta device before memory is allocated.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from weft.checkpoints.file_formats import explain_load_errors, explain_save_errors, read_json_object, write_json
from weft.checkpoints.manifest import write_manifest
from weft.checkpoints.model_folder import (
    CONFIG_FILE,
    METRICS_FILE,
    WEIGHTS_FILE,
    find_model,
    load_tokenizers,
    read_config,
    save_tokenizers,
)
from weft.config.inference_config import InferenceConfig
from weft.config.serialization import from_dict, to_dict
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.files import atomic_folder
from weft.models.build import build_model
from weft.models.model import Model
from weft.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from weft.config.recipe import Recipe

TRAINING_SECTIONS = ("objective", "train")  # of config.json; inference does not need them
MAX_REGISTRATIONS = 4  # of a weight: as itself, and under each name by which it is shared
EXTRA_REGISTRATIONS = 16  # more weights, which matter in small models


class TrainedModel(NamedTuple):
    """A model with its tokenizers, recipe and validation metrics. source_tokenizer may be an image codec."""

    model: Model
    source_tokenizer: Codec
    target_tokenizer: Tokenizer
    recipe: InferenceConfig  # in training, the whole Recipe
    metrics: dict[str, Any]

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def max_source_length(self) -> int:
        """The most source tokens that the model reads: the limit of training, or of its learned positions."""
        frame_head = self.model.frame_head
        positions = [self.model.source.max_length, None if frame_head is None else frame_head.max_length]
        return min([self.recipe.data.max_length, *(limit - 1 for limit in positions if limit is not None)])

    @property
    def max_target_length(self) -> int | None:
        """The most target tokens that the model has positions for (None: any number)."""
        positions = self.model.target.max_length
        return None if positions is None else positions - 1


def model_weights(model: Model) -> dict[str, Tensor]:
    """All tensors to save, by name; a shared one once, under its first name."""
    parameters, all_names = dict(model.named_parameters()), dict(model.named_parameters(remove_duplicate=False))
    state = model.state_dict()  # buffers included
    return {name: tensor for name, tensor in state.items() if name in parameters or name not in all_names}


def save_model(folder: Path, trained: TrainedModel, weights: Mapping[str, Tensor]) -> None:
    """Write a model folder atomically, replacing the one there."""
    with atomic_folder(folder) as new:
        with explain_save_errors(new / WEIGHTS_FILE):
            save_file({name: tensor.contiguous() for name, tensor in weights.items()}, new / WEIGHTS_FILE)
        write_json(new / CONFIG_FILE, to_dict(trained.recipe))
        write_json(new / METRICS_FILE, trained.metrics)
        save_tokenizers(new, trained.source_tokenizer, trained.target_tokenizer)
        write_manifest(new, {"kind": "model"})


def load_model(path: Path) -> TrainedModel:
    """Load the model in a run or model folder, every file checked against the manifest."""
    folder = find_model(path)
    recipe = load_model_config(folder)
    source, target = load_tokenizers(folder)
    build = partial(build_model, recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    path = folder / WEIGHTS_FILE
    with explain_load_errors(path):
        tensors = load_file(path)
    limit = MAX_REGISTRATIONS * len(tensors) + EXTRA_REGISTRATIONS
    with meta_device(limit, f"{_mismatch(path)}: that is larger."):
        _check_weights_fit(model_weights(build()), tensors, path, same_dtypes=True)
    model = build()
    copy_weights(model, tensors, path)
    return TrainedModel(model.eval(), source, target, recipe, read_json_object(folder / METRICS_FILE))


def load_model_config(path: Path) -> InferenceConfig:
    """The settings of the model in a run or model folder, every file checked against the manifest."""
    sections = {name: node for name, node in read_config(find_model(path)).items() if name not in TRAINING_SECTIONS}
    return from_dict(sections, InferenceConfig)


def load_model_recipe(path: Path) -> "Recipe":
    """The whole recipe of the model in a run or model folder. Imports all losses and optimizers."""
    from weft.config.recipe import Recipe

    return from_dict(read_config(find_model(path)), Recipe)


def copy_weights(model: Model, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy tensors into the model's weights; raise UserError naming `origin` unless names and shapes match."""
    weights = model_weights(model)
    _check_weights_fit(weights, tensors, origin, same_dtypes=False)
    for name, weight in weights.items():
        weight.copy_(tensors[name])


def _check_weights_fit(
    weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor], origin: Path, *, same_dtypes: bool
) -> None:
    ours, theirs = (
        {name: (tensor.shape, tensor.dtype if same_dtypes else None) for name, tensor in named.items()}
        for named in (weights, tensors)
    )
    wrong = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    if wrong:
        listed = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        raise UserError(f"{_mismatch(origin)}: {listed}.")


def _mismatch(origin: Path) -> str:
    return f"{origin} does not fit the model that its configuration describes"


@contextmanager
def meta_device(limit: int, message: str) -> Iterator[None]:
    """Build models without memory inside this context. Raise UserError(message) if more than `limit` parameters are
    registered, or a size is not possible for a tensor.
    """
    thread, remaining = threading.get_ident(), iter(range(limit))

    def count(_module: nn.Module, _name: str, _parameter: nn.Parameter | None) -> None:
        if threading.get_ident() == thread and next(remaining, None) is None:
            raise UserError(message)

    handle = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            yield
    except (RuntimeError, OverflowError) as error:
        raise UserError(message) from error
    finally:
        handle.remove()
