"""`weft calibrate`: fit a model's confidence."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import BeamOption, DeviceOption, ModelArgument, SetOption
from weft.core.errors import UserError


def calibrate(
    model: ModelArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The source and its references, or one .tsv.")],
    min_chrf: Annotated[
        float | None, typer.Option(min=0.0, max=100.0, help="The chrF from which a translation is good. Default: 60.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Only the exact reference is good.")] = False,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Fit the probability that a translation is good from its score; weft translate --json then reports it.

    \b
    weft calibrate MODEL SOURCE REFERENCE...
    weft calibrate MODEL VALIDATION.tsv
    """
    from weft.checkpoints.model_folder import lock_model_folder
    from weft.inference.evaluation import QualityCriterion, calibrate_model, format_calibration
    from weft.inference.loader import load_translator

    if exact and min_chrf is not None:
        raise UserError("--exact and --min-chrf contradict each other: omit one of them.")
    criterion = QualityCriterion(None if exact else 60.0 if min_chrf is None else min_chrf)
    with lock_model_folder(model) as folder:
        translator = load_translator(folder, device=device, beam=beam, overrides=settings or [])
        result = calibrate_model(translator, folder, files, criterion)
    print(format_calibration(result, criterion))
