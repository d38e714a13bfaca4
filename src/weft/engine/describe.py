"""What a recipe says and what a model is, in words."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.document import as_text
from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.schema import schema
from weft.model.build import parameters
from weft.store.model_folder import Trained, find_model, load_model


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
    return "\n".join([f"{folder}", *sizes(trained), *results(trained.metrics), "", settings])


def sizes(trained: Trained) -> list[str]:
    """Parameters in all and of each slot (a shared weight is counted where it stands first), and the vocabularies."""
    counted: set[int] = set()
    lines = [f"  {parameters(trained.model):,} parameters"]
    for name, part in trained.model.named_children():
        own = {id(weight): weight.numel() for weight in part.parameters() if id(weight) not in counted}
        counted |= own.keys()
        lines.append(f"    {name:<8} {type(part).__name__:<20} {sum(own.values()):>12,}")
    words = f"{trained.source_tokenizer.size:,} pieces"
    if trained.source_tokenizer.reads == "pictures":
        rows = len(trained.source_tokenizer.vocabulary())
        words = f"pictures of {rows} rows, and {trained.target_tokenizer.size:,} target pieces"
    elif trained.target_tokenizer is not trained.source_tokenizer:
        words = f"{trained.source_tokenizer.size:,} source and {trained.target_tokenizer.size:,} target pieces"
    return [*lines, f"  {words}"]


def results(metrics: dict[str, Any]) -> list[str]:
    scores = {name: value for name, value in metrics.get("valid", {}).items() if isinstance(value, float)}
    if not scores:
        return []
    return [
        f"  validation at step {metrics['step']}: " + ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    ]
