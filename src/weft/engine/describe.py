"""What a recipe says and what a model is, in words."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from weft.config.document import as_text
from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.schema import schema
from weft.model.build import parameters
from weft.model.model import Model
from weft.store.calibration import read_calibration
from weft.store.model_folder import Trained, load_model
from weft.store.place import find_model


class SlotSize(NamedTuple):
    """A part of a model: its name, what it is, and how many parameters it has."""

    name: str
    kind: str
    parameters: int


def describe_recipe(path: Path, overrides: Sequence[str]) -> str:
    """The recipe with every default written out; the same YAML, read again, means the same."""
    return as_text(describe(load_recipe(path, overrides), REGISTRY)).rstrip("\n")


def describe_schema() -> str:
    """The JSON schema of a recipe file."""
    return json.dumps(schema(Recipe, REGISTRY), indent=2)


def describe_model(path: Path) -> str:
    """A model folder at a glance: its parts and their sizes, its words, how it did, and its settings."""
    folder = find_model(path)
    trained = load_model(folder)
    settings = as_text(describe(trained.recipe, REGISTRY)).rstrip("\n")
    calibration = read_calibration(folder)
    confidence = [] if calibration is None else [f"  tells its confidence: {calibration.told()}"]
    return "\n".join([f"{folder}", *sizes(trained), *results(trained.metrics), *confidence, "", settings])


def sizes(trained: Trained) -> list[str]:
    """Parameters in all and of each slot, and the vocabularies."""
    slots = [f"    {slot.name:<8} {slot.kind:<20} {slot.parameters:>12,}" for slot in slots_of(trained.model)]
    return [f"  {parameters(trained.model):,} parameters", *slots, f"  {vocabularies(trained)}"]


def slots_of(model: Model) -> list[SlotSize]:
    """The parts of a model; a shared weight is counted where it stands first."""
    counted: set[int] = set()
    slots = []
    for name, part in model.named_children():
        own = {id(weight): weight.numel() for weight in part.parameters() if id(weight) not in counted}
        counted |= own.keys()
        slots.append(SlotSize(name, type(part).__name__, sum(own.values())))
    return slots


def vocabularies(trained: Trained) -> str:
    """How many pieces each side has."""
    source, target = trained.source_tokenizer, trained.target_tokenizer
    if source.reads == "pictures":
        return f"pictures of {len(source.vocabulary())} rows, and {target.size:,} target pieces"
    if target is not source:
        return f"{source.size:,} source and {target.size:,} target pieces"
    return f"{source.size:,} pieces"


def results(metrics: dict[str, Any]) -> list[str]:
    scores = {name: value for name, value in metrics.get("valid", {}).items() if isinstance(value, float)}
    if not scores:
        return []
    return [
        f"  validation at step {metrics['step']}: " + ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    ]
