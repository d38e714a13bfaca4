"""The model folder: all that translating needs, and nothing that could run code. It can be copied anywhere.

    weights.safetensors   config.json   source.tokenizer.json   target.tokenizer.json   metrics.json   manifest.json

With one vocabulary for both sides there is no target.tokenizer.json; with a source of pictures, source.picture.json
says how they are read. A target that is said from right to left has target.backward.json instead. confidence.json is
there if the model has been calibrated (calibration.py), shortlist.safetensors if it has a shortlist (shortlist.py).
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.model.build import build
from weft.model.model import Model
from weft.store.files import atomic_folder
from weft.store.formats import migrated
from weft.store.json_files import read_object
from weft.store.manifest import check_manifest, write_manifest
from weft.store.place import CONFIG, METRICS, WEIGHTS, find_model
from weft.store.readers import load_tokenizers, save_tokenizers
from weft.store.sizes import as_in, check_fit, same_kind, same_shape
from weft.store.tensors import loading, saving
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer


class Trained(NamedTuple):
    """A model with the words it knows and the recipe that made it. source_tokenizer: or what reads pictures."""

    model: Model
    source_tokenizer: Reader
    target_tokenizer: Tokenizer
    recipe: Recipe
    metrics: dict[str, Any]


def weights_of(model: Model) -> dict[str, Tensor]:
    """Every tensor that a model must keep, by name; a shared one stands once, under its first name."""
    learned, under_every_name = dict(model.named_parameters()), dict(model.named_parameters(remove_duplicate=False))
    kept = model.state_dict()  # with buffers that are not learned
    return {name: tensor for name, tensor in kept.items() if name in learned or name not in under_every_name}


def save_model(folder: Path, trained: Trained, weights: Mapping[str, Tensor]) -> None:
    """Write the folder whole or not at all, replacing the one that was there."""
    with atomic_folder(folder) as new:
        with saving(new / WEIGHTS):
            save_file({name: tensor.contiguous() for name, tensor in weights.items()}, new / WEIGHTS)
        write_json(new / CONFIG, describe(trained.recipe, REGISTRY))
        write_json(new / METRICS, trained.metrics)
        save_tokenizers(new, trained.source_tokenizer, trained.target_tokenizer)
        write_manifest(new, {"kind": "model"})


def load_model(path: Path) -> Trained:
    """Check every file against the manifest, then build the model and fill in its weights."""
    folder = find_model(path)
    recipe = checked_recipe(folder)
    source, target = load_tokenizers(folder)
    make = partial(build, recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    model = filled(make, folder / WEIGHTS)
    return Trained(model.eval(), source, target, recipe, read_object(folder / METRICS))


def filled(make: Callable[[], Model], path: Path) -> Model:
    """The model with the weights of a file, made only once it is known that they fit."""
    with loading(path):
        tensors = load_file(path)
    with as_in(tensors, path):
        check_fit(weights_of(make()), tensors, path, same_kind)
    model = make()
    fill(model, tensors, path)
    return model


def recipe_of(path: Path) -> Recipe:
    """The recipe that made the model in a run or model folder."""
    return checked_recipe(find_model(path))


def checked_recipe(folder: Path) -> Recipe:
    """The same of a model folder, every file of which is checked against the manifest."""
    written = check_manifest(folder).format
    return read(migrated(read_object(folder / CONFIG), "config", written), Recipe, REGISTRY)


def fill(model: Model, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy tensors into the model's weights; names and shapes must be exactly the model's."""
    wanted = weights_of(model)
    check_fit(wanted, tensors, origin, same_shape)
    for name, weight in wanted.items():
        weight.copy_(tensors[name])


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")
