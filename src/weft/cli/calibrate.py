"""weft calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Beam, Device, Settings
from weft.core.errors import UserError


def calibrate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="The source, then its references; or one .tsv. Best the validation set."),
    ],
    chrf: Annotated[
        float | None,
        typer.Option(min=0.0, max=100.0, help="A translation is good if its chrF is at least this. Default: 60."),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="It is good only if it is the reference itself.")] = False,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Learn how probably a translation is good from its score: weft translate --json then tells its confidence.

    \b
    weft calibrate MODEL SOURCE REFERENCE...
    weft calibrate MODEL VALIDATION.tsv
    """
    from weft.engine.calibrating import Good, calibrate_model, render
    from weft.engine.load import load_translator
    from weft.store.adding import changing

    if exact and chrf is not None:
        raise UserError("--exact and --chrf both say when a translation is good: leave out one of the two.")
    good = Good(None if exact else 60.0 if chrf is None else chrf)
    with changing(model) as folder:
        translator = load_translator(folder, device=device, beam=beam, overrides=settings or [])
        calibrated = calibrate_model(translator, folder, files, good)
    print(render(calibrated, good))
