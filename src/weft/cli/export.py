"""`weft export`: export to CTranslate2 or ONNX."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import ModelArgument
from weft.core.errors import UserError


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
