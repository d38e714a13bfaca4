"""Describes recipes and models: all defaults, JSON schema, parameters by slot, vocabulary sizes, results."""

import json
from collections.abc import Sequence
from pathlib import Path

from weft.checkpoints.model_folder import find_model, read_saved_calibration
from weft.checkpoints.trained_model import TrainedModel, load_model, load_model_recipe
from weft.config.json_schema import json_schema
from weft.config.recipe import Recipe, load_recipe
from weft.config.serialization import to_dict
from weft.config.yaml_files import dump_yaml
from weft.data.languages import language_pair
from weft.models.model import Model, count_parameters


def describe_recipe(path: Path, overrides: Sequence[str]) -> str:
    """The recipe as YAML, with all defaults."""
    return dump_yaml(to_dict(load_recipe(path, overrides))).rstrip("\n")


def describe_schema() -> str:
    """The JSON schema of a recipe file."""
    return json.dumps(json_schema(Recipe), indent=2)


def describe_model(path: Path) -> str:
    """A model in a run or model folder: slots and their sizes, vocabularies, validation scores, and recipe."""
    folder = find_model(path)
    trained = load_model(folder)
    lines = [f"{folder}", f"  {count_parameters(trained.model):,} parameters"]
    lines += [f"    {name:<8} {kind:<20} {parameters:>12,}" for name, kind, parameters in slot_sizes(trained.model)]
    lines.append(f"  {vocabulary_summary(trained)}")
    languages = language_pair(trained.recipe.data.languages)
    if languages is not None:
        lines.append(f"  {languages.describe()} ({languages})")
    scores = trained.metrics.get("validation", {}).items()
    listed = ", ".join(f"{name} {score:.2f}" for name, score in scores if isinstance(score, float))
    if listed:
        lines.append(f"  validation at step {trained.metrics['step']}: {listed}")
    calibration = read_saved_calibration(folder)
    if calibration is not None:
        lines.append(f"  calibrated confidence: {calibration}")
    return "\n".join([*lines, "", dump_yaml(to_dict(load_model_recipe(folder))).rstrip("\n")])


def slot_sizes(model: Model) -> list[tuple[str, str, int]]:
    """The slots of a model: name, class and number of parameters; a shared weight counts for the first slot."""
    counted, slots = set[int](), []
    for name, module in model.named_children():
        own = {id(weight): weight.numel() for weight in module.parameters() if id(weight) not in counted}
        counted |= own.keys()
        slots.append((name, type(module).__name__, sum(own.values())))
    return slots


def vocabulary_summary(trained: TrainedModel) -> str:
    """The vocabulary sizes of both sides."""
    source, target = trained.source_tokenizer, trained.target_tokenizer
    if source.modality != "text":
        return f"images of {len(source.vocabulary())} rows, and {target.size:,} target tokens"
    if target is not source:
        return f"{source.size:,} source and {target.size:,} target tokens"
    return f"{source.size:,} tokens"
