"""weft train."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import Device
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.training.loop import End

SETTING = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*=")  # how PLACE=VALUE begins
USAGE = (
    "Say what to train and where to keep it:\n"
    "  weft train train.en train.de --out FOLDER     two text files, or one .tsv or .jsonl; the rest is chosen\n"
    "  weft train RECIPE.yaml --out FOLDER           as a recipe says"
)


def train(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE|FILES... [PLACE=VALUE]...",
            help="A recipe (.yaml); or the training data: two text files, one .tsv or one .jsonl. "
            "Then settings to change, as model.encoder.layers=6.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to make.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Train as well as possible in so many minutes, all included.", min=0.01)
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
    device: Device = "auto",
) -> None:
    """Train a model on your files, or as a recipe says; or go on with a run that was stopped."""
    settings = [item for item in what or [] if SETTING.match(item)]
    files = [item for item in what or [] if not SETTING.match(item)]
    if resume is not None:
        if what or out is not None or minutes is not None:
            raise UserError(
                "--resume goes on with a run as it was configured: leave out recipe, settings, --minutes and --out. "
                f"For a longer run, begin another one: weft train {resume}/config.yaml --minutes 30 --out FOLDER"
            )
        end = go_on(resume, device)
    elif files and out is not None:
        end = begin(files, settings, out, minutes, device)
    elif files:
        command = " ".join(["weft train", *(what or [])])
        raise UserError(f"--out is missing: where should the run be kept? As in: {command} --out runs/first")
    else:
        raise UserError(USAGE)
    if end == "interrupted":
        raise typer.Exit(130)


def go_on(run: Path, device: str) -> End:
    from weft.training import start
    from weft.training.progress import display

    with display() as shown:
        return start.go_on(run, shown, device)


def begin(files: Sequence[str], settings: Sequence[str], out: Path, minutes: float | None, device: str) -> End:
    from weft.training.progress import display
    from weft.training.start import start

    with display() as shown:
        return start(files, out, shown, settings=settings, minutes=minutes, device=device)
