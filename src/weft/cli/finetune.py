"""weft finetune."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import Device
from weft.cli.train import SETTING
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.model.freezing import Slot

USAGE = (
    "Say which model is to learn what, and where to keep it:\n"
    "  weft finetune MODEL new.en new.de --out FOLDER     two text files, or one .tsv or .jsonl"
)


def finetune(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="The run or model folder of a trained model.")
    ] = None,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES... [PLACE=VALUE]...",
            help="The new data: two text files, one .tsv or one .jsonl. Then settings to change, as train.steps=500.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to make or to go on with.")] = None,
    mix: Annotated[
        float, typer.Option(min=0.0, metavar="N", help="So many old pairs for every new one, to forget less.")
    ] = 0.0,
    freeze: Annotated[str, typer.Option(metavar="SLOTS", help="Parts that stay as they are, as source,encoder.")] = "",
    extend: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="New pieces at most. Default: letters (or words, of a tokenizer of words) that were unknown.",
        ),
    ] = None,
    keep_optimiser: Annotated[
        bool, typer.Option("--keep-optimiser", help="Go on with the moments of the run's optimiser.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Time for training. Default: ten passes over the data.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Let a trained model learn new data, and tell what it gains there and what it loses at home."""
    settings = tuple(item for item in what or [] if SETTING.match(item))
    files = [item for item in what or [] if not SETTING.match(item)]
    if model is None or not files or out is None:
        raise UserError(USAGE)
    slots = slots_of(freeze)

    from weft.training.progress import display
    from weft.tuning.folder import TuningFolder
    from weft.tuning.run import Wish, compare
    from weft.tuning.run import finetune as tune

    folder = TuningFolder(out)
    wish = Wish(mix, slots, extend, keep_optimiser, settings, minutes, device)
    with display() as shown:
        if tune(model, files, folder, shown, wish) == "interrupted":
            raise typer.Exit(130)
        table = compare(folder, shown, device)
    if table is not None:
        print(table)


def slots_of(text: str) -> tuple[Slot, ...]:
    """The slots that are named, with commas between them."""
    from weft.model.freezing import SLOTS

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SLOTS:
            raise UserError(f"--freeze {text}: there is no {name!r} in a model; name some of {', '.join(SLOTS)}")
    return tuple(slot for slot in SLOTS if slot in names)
