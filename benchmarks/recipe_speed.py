"""Recipes that read the same text, beside each other: how many tokens a second does each train?

From the root of the repository, the recipe to compare with first:

    python -m benchmarks.recipe_speed FOLDER configs/multi30k-de-en-luong.yaml configs/multi30k-de-en-convs2s.yaml

All train on the batches of the first recipe, and take turns in one process, in the opposite order in every second
round, so that a busy machine slows all. Tokens are real target tokens, end marks included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.sides import RecipeSide, spread
from benchmarks.turns import Rounds, measure

from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.model.build import parameters
from weft.training.position import Position, stream
from weft.training.prepare import prepare
from weft.training.progress import display


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
    node = describe(recipe, REGISTRY)
    return node["data"], node["text"]


def make_sides(recipes: Mapping[str, Recipe]) -> dict[str, RecipeSide]:
    with display() as shown:
        prepared = prepare(next(iter(recipes.values())), None, shown)
    return {name: RecipeSide(recipe, prepared) for name, recipe in recipes.items()}


def first_batches(side: RecipeSide, count: int) -> list[Batch]:
    return [batch for _, [batch] in islice(stream(side.parts.batches, Position(), 1), count)]


def make_report(rounds: Rounds, sides: Mapping[str, RecipeSide]) -> dict[str, Any]:
    """Of each recipe the speed, how many times that of the first it is within a round, and the weights."""
    speeds = {name: [turn.tokens_per_second for turn in turns] for name, turns in rounds.items()}
    first = next(iter(speeds.values()))
    return {
        name: {
            "tokens_per_second": spread(ours),
            "times_first": spread([one / other for one, other in zip(ours, first, strict=True)]),
            "weights": parameters(sides[name].parts.trained.model),
        }
        for name, ours in speeds.items()
    }


def render(report: Mapping[str, Any]) -> str:
    """The report as a table in Markdown."""
    lines = ["| recipe | target tokens/s (min - max) | times the first (min - max) | weights |", "|---|---|---|---|"]
    for name, side in report.items():
        speed, times = side["tokens_per_second"], side["times_first"]
        speeds = f"{speed['median']:,.0f} ({speed['min']:,.0f} - {speed['max']:,.0f})"
        ratios = f"{times['median']:.2f} ({times['min']:.2f} - {times['max']:.2f})"
        lines.append(f"| {name} | {speeds} | {ratios} | {side['weights'] / 1e6:.1f} M |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="Where the files are that the recipes name.")],
    recipes: Annotated[list[Path], typer.Argument(help="Two or more; the first is compared with.")],
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    updates: Annotated[int, typer.Option(min=1, help="Updates of each side in a round.")] = 10,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates before the first round.")] = 3,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: as torch chooses.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure how fast recipes train, in one run."""
    if threads is not None:
        torch.set_num_threads(threads)
    steps = warm_up + rounds * updates
    sides = make_sides(read_recipes(recipes, folder, steps))
    batches = first_batches(next(iter(sides.values())), steps)
    report = make_report(measure(sides, batches, warm_up, updates), sides)
    print(render(report))
    write_json(json_file, {"setting": machine() | {"rounds": rounds, "updates": updates}, "figures": report})


if __name__ == "__main__":
    run_command(main, "recipe_speed")
