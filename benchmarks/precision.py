"""Speed and loss of bfloat16 against float32: one recipe trained in both precisions.

From the root of the repository:

    python -m benchmarks.precision --data FOLDER                            # Multi30k's files in FOLDER; 1,000 updates
    python -m benchmarks.precision --data FOLDER --updates 100 --json precision.json

Both start from the same weights and train on the same batches. They alternate every few updates in one process, in
reverse order in every second round, so that other load slows both equally. Validation uses the float32 master weights
and all validation pairs. The schedule is the recipe's, with the given number of updates.

On a CPU without bfloat16 instructions the matrix products are emulated in float32 (EmulatedBfloat16): the loss is
valid, the speed is not, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import table
from benchmarks.summary_statistics import format_range
from benchmarks.training_rounds import (
    RecipeTrainer,
    Rounds,
    Threads,
    Trainer,
    first_batches,
    measure,
    summarize_speeds,
    use_threads,
)
from torch.utils._python_dispatch import TorchDispatchMode

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
EMULATION_NOTE = (
    "This CPU has no bfloat16 instructions. Products were computed in float32 and rounded: only the loss is valid."
)

MATMULS = {torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm, torch.ops.aten.baddbmm}


class EmulatedBfloat16(TorchDispatchMode):
    """Context in which matrix products of bfloat16 tensors are computed in float32 and rounded, also in backward.

    This is what bfloat16 instructions do. Losses are those of a CPU that has them; speeds are those of float32.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, operation: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        packet, options = operation.overloadpacket, dict(kwargs or {})
        if packet not in MATMULS or args[-1].dtype != torch.bfloat16:
            return operation(*args, **options)
        out = options.pop("out", None)
        product: torch.Tensor = packet(*(tensor.float() for tensor in args), **options)
        return product.bfloat16() if out is None else out.copy_(product)


def make_trainers(recipe: Recipe) -> dict[str, RecipeTrainer]:
    with open_display() as display:
        prepared = prepare_data(recipe, None, display, CPU_RANK)
    return {name: RecipeTrainer(with_precision(recipe, name), prepared) for name in PRECISIONS}


def with_emulation(trainer: Trainer) -> Trainer:
    def turn(batch: Batch, step: int) -> float:
        with EmulatedBfloat16():
            return trainer(batch, step)

    return turn


def make_report(rounds: Rounds, trainers: Mapping[str, RecipeTrainer]) -> dict[str, Any]:
    """Return the speed of each precision relative to float32, and its final validation loss."""
    losses = {name: loss_of(trainer) for name, trainer in trainers.items()}
    return {
        name: {**speeds, "valid_loss": losses[name], "times_loss": losses[name] / losses[PRECISIONS[0]]}
        for name, speeds in summarize_speeds(rounds).items()
    }


def loss_of(trainer: RecipeTrainer) -> float:
    validate = trainer.components.validator
    if validate is None:
        raise UserError("the recipe has no validation files. Give data.valid")
    return float(validate(trainer.components.trained)["loss"])


def render(report: Mapping[str, Any], updates: int) -> str:
    """Return the report as a Markdown table."""
    header = ["precision", "target tokens/s (min - max)", "times float32 (min - max)", f"loss after {updates:,}"]
    rows = [
        [
            name,
            format_range(trainer["tokens_per_second"], ",.0f"),
            format_range(trainer["times_first"], ".2f"),
            f"{trainer['valid_loss']:.4f}",
            f"{trainer['times_loss']:.2%}",
        ]
        for name, trainer in report.items()
    ]
    return table([*header, "relative to float32"], rows)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the recipe's files.")],
    recipe: Annotated[Path, typer.Option(help="Recipe to train.")] = RECIPE,
    updates: Annotated[int, typer.Option(min=WARM_UP + 1)] = 1000,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Train a recipe in float32 and in bfloat16, and compare."""
    use_threads(threads)
    settings = [f"data.folder={data}", "train.minutes=null", f"train.steps={updates}", "train.average=null"]
    read = load_recipe(recipe, [*settings, "train.gradient_accumulation=1", "train.validation.lines=0"])
    trainers = make_trainers(read)
    batches = first_batches(trainers[PRECISIONS[0]], updates)
    emulated = not supports_bfloat16(CPU_RANK.device)
    turns: dict[str, Trainer] = {
        name: with_emulation(trainer) if emulated else trainer for name, trainer in trainers.items()
    }
    report = make_report(measure(turns, batches, WARM_UP, TURN), trainers)
    print(render(report, updates), *[EMULATION_NOTE] * emulated, sep="\n")
    facts = machine() | {"recipe": recipe.stem, "updates": updates, "emulated": emulated}
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "precision")
