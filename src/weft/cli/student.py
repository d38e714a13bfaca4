"""weft student."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device, Overrides, refuse
from weft.core.errors import UserError


def student(
    teacher: Annotated[
        Path | None, typer.Argument(metavar="TEACHER", help="The run or model folder of a trained model.")
    ] = None,
    settings: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to make or to go on with.")] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Lines for the teacher to translate, instead of those it was trained on. May be repeated.",
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Time for training. Default: as many updates as the teacher had.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Only measure the student in this folder beside its teacher.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Make a small fast model from a trained one: it learns what the teacher says, and is measured beside it."""
    from weft.student.folder import StudentFolder
    from weft.student.run import compare as measure
    from weft.student.run import make_student
    from weft.training.progress import display

    with display() as shown:
        if compare is not None:
            making = {"TEACHER": teacher, "settings": settings, "--out": out, "--source": source, "--minutes": minutes}
            refuse("--compare measures a student that is there", making, "for making one")
            folder = StudentFolder(compare)
        elif teacher is not None and out is not None:
            folder = StudentFolder(out)
            lines, changed = tuple(source or ()), settings or []
            end = make_student(teacher, folder, shown, source=lines, settings=changed, minutes=minutes, device=device)
            if end == "interrupted":
                raise typer.Exit(130)
        else:
            raise UserError("Say whose student to make, and where to keep it: weft student TEACHER --out FOLDER")
        table = measure(folder, shown, device)
    if table is not None:
        print(table)
