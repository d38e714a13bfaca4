"""Training speed of several recipes that read the same text.

From the root of the repository, the reference recipe first:

    python -m benchmarks.recipe_speed FOLDER multi30k-de-en-luong multi30k-de-en-convs2s

All train on the batches of the first recipe. They alternate in one process, in reverse order in every second round, so
that other load slows all equally. Tokens are target tokens without padding, EOS included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import table
from benchmarks.summary_statistics import format_range
from benchmarks.training_rounds import (
    RecipeTrainer,
    RoundCount,
    Rounds,
    Threads,
    Updates,
    WarmUp,
    first_batches,
    measure,
    summarize_speeds,
    use_threads,
)

from weft.config.recipe import Recipe, load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.models.model import count_parameters
from weft.training.data_preparation import prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.progress import open_display


def read_recipes(paths: Sequence[Path], folder: Path, steps: int) -> dict[str, Recipe]:
    """Load the recipes by name; raise UserError unless their data and text settings are equal."""
    settings = [f"data.folder={folder}", "train.minutes=null", f"train.steps={steps}"]
    recipes = {path.stem: load_recipe(path, settings) for path in paths}
    first, *others = recipes
    for name in others:
        if input_settings(recipes[name]) != input_settings(recipes[first]):
            raise UserError(f"{name} and {first} have different data or text settings. Give recipes with equal ones")
    return recipes


def input_settings(recipe: Recipe) -> tuple[Any, Any]:
    node = to_dict(recipe, REGISTRY)
    return node["data"], node["text"]


def make_trainers(recipes: Mapping[str, Recipe]) -> dict[str, RecipeTrainer]:
    with open_display() as display:
        prepared = prepare_data(next(iter(recipes.values())), None, display, CPU_RANK)
    return {name: RecipeTrainer(recipe, prepared) for name, recipe in recipes.items()}


def make_report(rounds: Rounds, trainers: Mapping[str, RecipeTrainer]) -> dict[str, Any]:
    """Return the speed of each recipe, its ratio to the first within each round, and its number of weights."""
    weights = {name: count_parameters(trainer.components.trained.model) for name, trainer in trainers.items()}
    return {name: {**speeds, "weights": weights[name]} for name, speeds in summarize_speeds(rounds).items()}


def render(report: Mapping[str, Any]) -> str:
    """Return the report as a Markdown table."""
    rows = [
        [
            name,
            format_range(trainer["tokens_per_second"], ",.0f"),
            format_range(trainer["times_first"], ".2f"),
            f"{trainer['weights'] / 1e6:.1f} M",
        ]
        for name, trainer in report.items()
    ]
    return table(["recipe", "target tokens/s (min - max)", "times the first (min - max)", "weights"], rows)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of the recipes' files.")],
    recipes: Annotated[list[Path], typer.Argument(help="Two or more recipes; the first is the reference.")],
    rounds: RoundCount = 5,
    updates: Updates = 10,
    warm_up: WarmUp = 3,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of several recipes."""
    use_threads(threads)
    steps = warm_up + rounds * updates
    trainers = make_trainers(read_recipes(recipes, folder, steps))
    batches = first_batches(next(iter(trainers.values())), steps)
    report = make_report(measure(trainers, batches, warm_up, updates), trainers)
    print(render(report), end="")
    write_json(json_file, {"setting": machine() | {"rounds": rounds, "updates": updates}, "figures": report})


if __name__ == "__main__":
    run_command(main, "recipe_speed")
