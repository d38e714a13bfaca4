"""`weft calibrate`, `weft shortlist` and `weft export`: prepare a trained model for use."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import BeamOption, DeviceOption, ModelArgument, OutputOption, SetOption, print_result
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
    output: OutputOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Fit the probability that a translation is good from its score; weft translate --json then reports it.

    \b
    weft calibrate MODEL SOURCE REFERENCE...
    weft calibrate MODEL VALIDATION.tsv
    """
    from weft.checkpoints.model_folder import lock_model_folder
    from weft.core.files import check_result_file
    from weft.inference.evaluation import QualityCriterion, calibrate_model, format_calibration
    from weft.inference.loader import load_translator

    if exact and min_chrf is not None:
        raise UserError("--exact and --min-chrf contradict each other: omit one of them.")
    check_result_file(output, files)
    criterion = QualityCriterion(None if exact else 60.0 if min_chrf is None else min_chrf)
    with lock_model_folder(model) as folder:
        translator = load_translator(folder, device=device, beam=beam, overrides=settings or [])
        result = calibrate_model(translator, folder, files, criterion)
    print_result(format_calibration(result, criterion), output)


def shortlist(
    model: ModelArgument,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Two text files or one .tsv. Default: its training data."),
    ] = None,
    per_token: Annotated[int, typer.Option(min=1, help="The number of target tokens for each source token.")] = 100,
    frequent: Annotated[int, typer.Option(min=0, help="The number of target tokens that are always included.")] = 100,
    pairs: Annotated[int, typer.Option(min=1, help="Learn from at most this many pairs, the first.")] = 100_000,
) -> None:
    """Learn which target tokens belong to which source tokens: weft translate --shortlist then computes no others.

    \b
    weft shortlist MODEL
    weft shortlist MODEL SOURCE TARGET
    """
    from weft.inference.shortlist_training import train_shortlist
    from weft.text.lexical_shortlist import ShortlistSize

    print(train_shortlist(model, files or [], ShortlistSize(per_token, frequent), pairs))


def export(
    model: ModelArgument,
    format_name: Annotated[
        Literal["ctranslate2", "onnx"], typer.Option("--format", help="The library to run it with.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to create.")],
    precision: Annotated[
        Literal["float32", "int16", "int8"] | None, typer.Option(help="The precision of ctranslate2. Default: float32.")
    ] = None,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="Export and use the shortlist of the model (ctranslate2 only).")
    ] = False,
    verify: Annotated[
        bool | None, typer.Option("--verify/--no-verify", help="Compare onnx with torch first, if possible.")
    ] = None,
) -> None:
    """Create a folder in which a model runs without Weft, with its tokenizers and a program that translates."""
    from weft.checkpoints.model_folder import read_model_folder

    folder = read_model_folder(model)
    if format_name == "ctranslate2":
        from weft.inference.export.exporters import export_ctranslate2

        if verify is not None:
            raise UserError("--verify needs --format onnx: omit it. Weft's own tests compare CTranslate2 with torch.")
        differences = export_ctranslate2(folder, out, precision or "float32", shortlist=shortlist)
    else:
        from weft.inference.export.exporters import export_onnx

        if precision is not None:
            raise UserError(f"--precision {precision} needs --format ctranslate2: omit it.")
        if shortlist:
            raise UserError("--shortlist needs --format ctranslate2: omit it.")
        if verify is None:
            verify = find_spec("onnxruntime") is not None
        differences = export_onnx(folder, out, _print_verification(folder.path) if verify else None)
    print(f"{out}: to translate, python {out / 'translate.py'} < INPUT > OUTPUT")
    if differences:
        reasons = "\n".join(f"  {reason}" for reason in differences)
        print(f"weft: translate.py omits what weft translate also does with this model:\n{reasons}", file=sys.stderr)


def _print_verification(folder: Path) -> Callable[[Path], None]:
    from weft.inference.export.verification import verify_export  # needs onnxruntime

    return lambda exported: print(verify_export(folder, exported))
