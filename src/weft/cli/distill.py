"""`weft distill`: distill a model into a smaller one."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption, OverridesArgument, parse_minutes, refuse_options
from weft.core.errors import UserError


def distill(
    teacher: Annotated[Path | None, typer.Argument(metavar="TEACHER", help="A run folder or a model folder.")] = None,
    settings: OverridesArgument = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to create or resume.")] = None,
    source: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Text to translate. Default: its training data.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            parser=parse_minutes, metavar="N", help="The training time. Default: the teacher's number of updates."
        ),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Only compare the student in this folder with its teacher.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Train a small, fast model on the outputs of a trained one, and compare the two."""
    from weft.training import distillation
    from weft.training.progress import open_display

    with open_display() as display:
        if compare is not None:
            options = {"TEACHER": teacher, "settings": settings, "--out": out, "--source": source, "--minutes": minutes}
            refuse_options("--compare measures an existing student", options, "for training one")
            folder = distillation.StudentFolder(compare)
        elif teacher is not None and out is not None:
            folder = distillation.StudentFolder(out)
            lines, changes = tuple(source or ()), settings or []
            outcome = distillation.distill(
                teacher, folder, display, source=lines, settings=changes, minutes=minutes, device=device
            )
            if outcome == "interrupted":
                raise typer.Exit(130)
        else:
            raise UserError("The teacher or --out is missing: weft distill TEACHER --out FOLDER")
        table = distillation.compare_with_teacher(folder, display, device)
    if table is not None:
        print(table)
