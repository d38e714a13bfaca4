"""What numbers of 16 bits gain in speed and cost in quality: one recipe in float32 and in bfloat16, side by side.

From the root of the repository:

    python -m benchmarks.precision --data FOLDER                            # Multi30k's files in FOLDER; 1,000 updates
    python -m benchmarks.precision --data FOLDER --updates 100 --json precision.json

Both begin with the same weights and train on the same batches, a few updates of the one and then of the other in one
process, in the opposite order in every second round, so that a busy machine slows both. Validation is in float32, of
the masters; its loss is that over all validation pairs. The recipe's schedule, but with so many steps.

A processor without instructions for bfloat16 computes its products in float32 and rounds them (wide_products.py): the
loss counts there, the speed does not, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.sides import RecipeSide, first_batches
from benchmarks.spreads import between
from benchmarks.turns import Rounds, Side, Threads, measure, speeds, use_threads
from benchmarks.wide_products import WideProducts

from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.training.data_preparation import prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.mixed_precision import supports_bfloat16, with_precision
from weft.training.progress import open_display

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"
PRECISIONS: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16")
WARM_UP = 10
TURN = 10  # updates
WIDE = "This CPU has no instructions for bfloat16, whose products were those of float32, rounded: read the loss alone."


def make_sides(recipe: Recipe) -> dict[str, RecipeSide]:
    with open_display() as shown:
        prepared = prepare_data(recipe, None, shown, CPU_RANK)
    return {name: RecipeSide(with_precision(recipe, name), prepared) for name in PRECISIONS}


def with_wide_products(side: Side) -> Side:
    def turn(batch: Batch, step: int) -> float:
        with WideProducts():
            return side(batch, step)

    return turn


def make_report(rounds: Rounds, sides: Mapping[str, RecipeSide]) -> dict[str, Any]:
    """Of each precision its speed beside float32's, and the validation loss of its last weights."""
    losses = {name: loss_of(side) for name, side in sides.items()}
    return {
        name: {**told, "valid_loss": losses[name], "times_loss": losses[name] / losses[PRECISIONS[0]]}
        for name, told in speeds(rounds).items()
    }


def loss_of(side: RecipeSide) -> float:
    validate = side.parts.validator
    if validate is None:
        raise UserError("the recipe names no validation files: give data.valid")
    return float(validate(side.parts.trained)["loss"])


def render(report: Mapping[str, Any], updates: int) -> str:
    """The report as a table in Markdown."""
    lines = [
        f"| precision | target tokens/s (min - max) | times float32 (min - max) | loss after {updates:,} | of it |",
        "|---|---|---|---|---|",
    ]
    for name, side in report.items():
        shown = between(side["tokens_per_second"], ",.0f"), between(side["times_first"], ".2f")
        lines.append(f"| {name} | {shown[0]} | {shown[1]} | {side['valid_loss']:.4f} | {side['times_loss']:.2%} |")
    return "\n".join(lines)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the recipe's files.")],
    recipe: Annotated[Path, typer.Option(help="What is trained.")] = RECIPE,
    updates: Annotated[int, typer.Option(min=WARM_UP + 1)] = 1000,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Train a recipe in float32 and in bfloat16, and compare."""
    use_threads(threads)
    settings = [f"data.folder={data}", "train.minutes=null", f"train.steps={updates}", "train.average=null"]
    read = load_recipe(recipe, [*settings, "train.gradient_accumulation=1", "train.validation.lines=0"])
    sides = make_sides(read)
    batches = first_batches(sides[PRECISIONS[0]], updates)
    wide = not supports_bfloat16(CPU_RANK.device)
    turns: dict[str, Side] = {name: with_wide_products(side) if wide else side for name, side in sides.items()}
    report = make_report(measure(turns, batches, WARM_UP, TURN), sides)
    print(render(report, updates), *[WIDE] * wide, sep="\n\n")
    facts = machine() | {"recipe": recipe.stem, "updates": updates, "wide_products": wide}
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "precision")
