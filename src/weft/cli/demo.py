"""weft demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import Device


def demo(
    what: Annotated[
        Literal["translate", "pronounce", "spell"],
        typer.Argument(help="English to Spanish; English words to phones; misspelled words to right ones."),
    ] = "translate",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The run folder to make or to go on with. Default: runs/demo-WHAT."),
    ] = None,
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="Where corpora are kept.")] = Path("data"),
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Time for training. Default: 8, 5 and 5.")] = None,
    device: Device = "auto",
) -> None:
    """Fetch real data, train a model in a few minutes, and show what it can do."""
    from weft.demo.run import run_demo

    if run_demo(what, out or Path("runs") / f"demo-{what}", data, minutes, device) == "interrupted":
        raise typer.Exit(130)
