"""`weft demo`: train a small model on real data."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import DeviceOption


def demo(
    task: Annotated[
        Literal["translate", "pronounce", "spell"],
        typer.Argument(help="English to Spanish; English words to phonemes; misspelled words to correct ones."),
    ] = "translate",
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The run folder to create or resume. Default: runs/demo-TASK.")
    ] = None,
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the datasets.")] = Path("data"),
    minutes: Annotated[float | None, typer.Option(min=0.01, help="The training time. Default: 5 or 8.")] = None,
    device: DeviceOption = "auto",
) -> None:
    """Download real data, train a model in a few minutes, and show what it can do."""
    from weft.cli.demo_tasks import run_demo

    if run_demo(task, out or Path("runs") / f"demo-{task}", data, minutes, device) == "interrupted":
        raise typer.Exit(130)
