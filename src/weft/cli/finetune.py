"""`weft finetune`: fine-tune a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import DeviceOption, parse_minutes, split_settings
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.models.model import Slot

USAGE = (
    "The model, the new data or --out is missing:\n"
    "  weft finetune MODEL new.en new.de --out FOLDER     two text files, or one .tsv or .jsonl"
)


def finetune(
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")] = None,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES... [KEY=VALUE]...",
            help="The new data: two text files, or one .tsv, .jsonl, .csv, .parquet, .po, .tmx or .xlf. "
            "Then settings to change, for example train.steps=500.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to create or resume.")] = None,
    mix: Annotated[float, typer.Option(min=0.0, metavar="N", help="Replay N old pairs for every new one.")] = 0.0,
    freeze: Annotated[str, typer.Option(metavar="SLOTS", help="Parts to freeze, such as source,encoder.")] = "",
    extend_vocabulary: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Add at most N tokens. Default: those that are unknown.")
    ] = None,
    keep_optimizer: Annotated[bool, typer.Option("--keep-optimizer", help="Keep the state of the optimizer.")] = False,
    minutes: Annotated[
        float | None, typer.Option(parser=parse_minutes, metavar="N", help="The training time. Default: ten epochs.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Fine-tune a trained model on new data, and report what it gains there and loses on its old data."""
    files, settings = split_settings(data)
    if model is None or not files or out is None:
        raise UserError(USAGE)
    slots = _parse_slots(freeze)

    from weft.training import finetuning
    from weft.training.finetuning_recipe import FinetuningOptions
    from weft.training.progress import open_display

    folder = finetuning.FinetuningFolder(out)
    options = FinetuningOptions(mix, slots, extend_vocabulary, keep_optimizer, tuple(settings), minutes)
    with open_display() as display:
        if finetuning.finetune(model, files, folder, display, options, device) == "interrupted":
            raise typer.Exit(130)
        table = finetuning.compare_before_and_after(folder, display, device)
    if table is not None:
        print(table)


def _parse_slots(text: str) -> "tuple[Slot, ...]":
    """Parse names of slots that are separated by commas."""
    from weft.models.model import SLOTS

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SLOTS:
            raise UserError(f"--freeze {text}: a model has no part {name!r}. Use some of {', '.join(SLOTS)}")
    return tuple(slot for slot in SLOTS if slot in names)
