"""The model folder: all that translating needs, and nothing that could run code. It can be copied anywhere.

    weights.safetensors   config.json   source.tokenizer.json   target.tokenizer.json   metrics.json   manifest.json

With one vocabulary for both sides there is no target.tokenizer.json; with a source of pictures, source.picture.json
says how they are read.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.model.build import build
from weft.model.model import Model
from weft.picture.reader import PictureReader
from weft.store.files import atomic_folder, recover_folder
from weft.store.manifest import MANIFEST, check_manifest, write_manifest
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer

WEIGHTS, CONFIG, METRICS = "weights.safetensors", "config.json", "metrics.json"
SOURCE, TARGET = "source", "target"


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
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, new / WEIGHTS)
        write_json(new / CONFIG, describe(trained.recipe, REGISTRY))
        write_json(new / METRICS, trained.metrics)
        save_tokenizers(new, trained.source_tokenizer, trained.target_tokenizer)
        write_manifest(new, {"kind": "model"})


def load_model(path: Path) -> Trained:
    """Check every file against the manifest, then build the model and fill in its weights."""
    folder = find_model(path)
    check_manifest(folder)
    recipe = read_recipe(folder)
    source, target = load_tokenizers(folder)
    model = build(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    fill(model, load_file(folder / WEIGHTS), folder / WEIGHTS)
    model.eval()
    return Trained(model, source, target, recipe, json.loads((folder / METRICS).read_text("utf-8")))


def recipe_of(path: Path) -> Recipe:
    """The recipe that made the model in a run or model folder."""
    folder = find_model(path)
    check_manifest(folder)
    return read_recipe(folder)


def fingerprint(path: Path) -> str:
    """Equal for copies of one model alone: the manifest has a hash of every file."""
    return hashlib.sha256((find_model(path) / MANIFEST).read_bytes()).hexdigest()


def read_recipe(folder: Path) -> Recipe:
    return read(json.loads((folder / CONFIG).read_text("utf-8")), Recipe, REGISTRY)


def find_model(path: Path) -> Path:
    """A model folder itself, or of a run folder the best model (the last, if none was validated yet)."""
    for folder in (path, path / "best", path / "last"):
        recover_folder(folder)
        if (folder / MANIFEST).is_file() and (folder / WEIGHTS).is_file():
            return folder
    if not path.exists():
        raise UserError(f"{path}: there is no such folder. Give a run folder or a model folder.")
    raise UserError(
        f"{path} is not a model folder: it has no {MANIFEST} with {WEIGHTS}, and neither has {path / 'best'}. "
        "Give the folder that weft train wrote (its --out)."
    )


def fill(model: Model, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy tensors into the model's weights; names and shapes must be exactly the model's."""
    wanted = weights_of(model)
    wrong = sorted(
        name
        for name in {*wanted, *tensors}
        if name not in wanted or name not in tensors or wanted[name].shape != tensors[name].shape
    )
    if wrong:
        listed = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        raise UserError(f"{origin} does not fit the model that its configuration describes: {listed}.")
    for name, weight in wanted.items():
        weight.copy_(tensors[name])


def save_tokenizers(folder: Path, source: Reader, target: Tokenizer) -> None:
    source.save(folder / f"{SOURCE}.{source.ending}")
    if target is not source:
        target.save(folder / f"{TARGET}.{target.ending}")


def load_tokenizers(folder: Path) -> tuple[Reader, Tokenizer]:
    pictures, target = folder / f"{SOURCE}.{PictureReader.ending}", folder / f"{TARGET}.{Tokenizer.ending}"
    if pictures.exists():
        return PictureReader.load(pictures), Tokenizer.load(target)
    source = Tokenizer.load(folder / f"{SOURCE}.{Tokenizer.ending}")
    return source, Tokenizer.load(target) if target.exists() else source


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")
