"""weft export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.export.converted import Precision
    from weft.export.described import Described


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    to: Annotated[Literal["ctranslate2", "onnx"], typer.Option(help="What is to run the model.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to make.")],
    precision: Annotated[
        Literal["float32", "int16", "int8"] | None,
        typer.Option(help="Of the weights, for ctranslate2. int8: a quarter of the size. Default: float32."),
    ] = None,
    shortlist: Annotated[
        bool,
        typer.Option("--shortlist", help="Of ctranslate2: let what weft shortlist has learned go along, and use it."),
    ] = False,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Of onnx: whether what it says is compared with torch first. Default: if onnxruntime is installed.",
        ),
    ] = None,
) -> None:
    """Make a folder in which a model runs without Weft: with its tokenizers, and a program that translates."""
    from weft.export.described import read_described

    described = read_described(model)
    if to == "ctranslate2":
        unlike = _to_ctranslate2(described, out, precision, shortlist, check)
    else:
        unlike = _to_onnx(described, out, precision, shortlist, check)
    print(f"{out}: to translate, python {out / 'translate.py'} < INPUT > OUTPUT")
    if unlike:
        listed = "\n".join(f"  {reason}" for reason in unlike)
        print(
            f"weft: weft translate does more with this model, which translate.py leaves out:\n{listed}", file=sys.stderr
        )


def _to_ctranslate2(
    described: Described, out: Path, precision: Precision | None, shortlist: bool, check: bool | None
) -> list[str]:
    from weft.export.to_ctranslate2 import export_ctranslate2

    if check is not None:
        raise UserError("--check is for --to onnx: leave it out. CTranslate2 is compared with torch by our tests.")
    return export_ctranslate2(described, out, precision or "float32", shortlist=shortlist)


def _to_onnx(
    described: Described, out: Path, precision: Precision | None, shortlist: bool, check: bool | None
) -> list[str]:
    from weft.export.onnx.exporting import export_onnx, installed, require

    if precision is not None:
        raise UserError(f"--precision {precision} is for --to ctranslate2: leave it out, weights go as they are.")
    if shortlist:
        raise UserError("--shortlist is for --to ctranslate2: leave it out, every piece is computed.")
    if check:
        require("onnxruntime")

    def compare(new: Path) -> None:
        from weft.engine.proof import prove

        print(prove(described.folder, new).told())

    wanted = installed("onnxruntime") if check is None else check
    return export_onnx(described, out, compare if wanted else None)
