"""Recipes that read the same text, beside each other: how many tokens a second does each train?

From the root of the repository, the recipe to compare with first:

    python -m benchmarks.recipe_speed FOLDER multi30k-de-en-luong multi30k-de-en-convs2s

All train on the batches of the first recipe, and take turns in one process, in the opposite order in every second
round, so that a busy machine slows all. Tokens are real target tokens, end marks included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.sides import RecipeSide, first_batches
from benchmarks.spreads import between
from benchmarks.turns import RoundCount, Rounds, Threads, Updates, WarmUp, measure, speeds, use_threads

from weft.config.recipe import Recipe, load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.models.model import count_parameters
from weft.training.data_preparation import prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.progress import open_display


def read_recipes(paths: Sequence[Path], folder: Path, steps: int) -> dict[str, Recipe]:
    """By name; they must read their text alike, since they share batches."""
    settings = [f"data.folder={folder}", "train.minutes=null", f"train.steps={steps}"]
    recipes = {path.stem: load_recipe(path, settings) for path in paths}
    first, *others = recipes
    for name in others:
        if reading(recipes[name]) != reading(recipes[first]):
            raise UserError(f"{name} does not read the text as {first} does: their data and text must be equal")
    return recipes


def reading(recipe: Recipe) -> tuple[Any, Any]:
    node = to_dict(recipe, REGISTRY)
    return node["data"], node["text"]


def make_sides(recipes: Mapping[str, Recipe]) -> dict[str, RecipeSide]:
    with open_display() as shown:
        prepared = prepare_data(next(iter(recipes.values())), None, shown, CPU_RANK)
    return {name: RecipeSide(recipe, prepared) for name, recipe in recipes.items()}


def make_report(rounds: Rounds, sides: Mapping[str, RecipeSide]) -> dict[str, Any]:
    """Of each recipe the speed, how many times that of the first it is within a round, and the weights."""
    weights = {name: count_parameters(side.parts.trained.model) for name, side in sides.items()}
    return {name: {**told, "weights": weights[name]} for name, told in speeds(rounds).items()}


def render(report: Mapping[str, Any]) -> str:
    """The report as a table in Markdown."""
    lines = ["| recipe | target tokens/s (min - max) | times the first (min - max) | weights |", "|---|---|---|---|"]
    for name, side in report.items():
        shown = between(side["tokens_per_second"], ",.0f"), between(side["times_first"], ".2f")
        lines.append(f"| {name} | {shown[0]} | {shown[1]} | {side['weights'] / 1e6:.1f} M |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="Where the files are that the recipes name.")],
    recipes: Annotated[list[Path], typer.Argument(help="Two or more; the first is compared with.")],
    rounds: RoundCount = 5,
    updates: Updates = 10,
    warm_up: WarmUp = 3,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Measure how fast recipes train, in one run."""
    use_threads(threads)
    steps = warm_up + rounds * updates
    sides = make_sides(read_recipes(recipes, folder, steps))
    batches = first_batches(next(iter(sides.values())), steps)
    report = make_report(measure(sides, batches, warm_up, updates), sides)
    print(render(report))
    write_json(json_file, {"setting": machine() | {"rounds": rounds, "updates": updates}, "figures": report})


if __name__ == "__main__":
    run_command(main, "recipe_speed")
