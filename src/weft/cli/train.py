"""weft train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device, Overrides
from weft.core.errors import UserError


def train(
    recipe: Annotated[
        Path | None, typer.Argument(metavar="RECIPE", help="A YAML file, such as configs/transformer-small.yaml.")
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to make.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
    device: Device = "auto",
) -> None:
    """Train a model as a recipe says, or go on with a run that was stopped."""
    from weft.config.load import load_recipe
    from weft.training import run
    from weft.training.progress import display

    if resume is not None and (recipe is not None or out is not None):
        raise UserError("--resume goes on with a run as it was configured: leave out the recipe, settings and --out.")
    if resume is not None:
        with display() as shown:
            end = run.resume(resume, shown, device)
    elif recipe is not None and out is not None:
        loaded = load_recipe(recipe, overrides or [])
        with display() as shown:
            end = run.start(loaded, out, shown, device)
    else:
        raise UserError("Say what to train and where to keep it: weft train RECIPE --out FOLDER")
    if end == "interrupted":
        raise typer.Exit(130)
