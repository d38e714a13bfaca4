"""weft attention."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Beam, Device, Settings


def attention(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What to translate, in quotation marks.")],
    output: Annotated[Path, typer.Option(help="The picture to write: .png, .svg or .pdf.")] = Path("attention.png"),
    layer: Annotated[
        int | None, typer.Option(min=1, help="A layer of the decoder, counted from 1. Default: what the decoder gives.")
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="A head of that layer, counted from 1. Default: the mean of its heads.")
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Show the tokenizer's pieces instead of words.")] = False,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Draw what each word of a translation looked at in the sentence."""
    from weft.engine.load import load_translator
    from weft.inspect.attention import draw

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [])
    shown = draw(translator, sentence, output, layer=layer, head=head, unit="pieces" if pieces else "words")
    print(f"{output}: {shown.translation}")
