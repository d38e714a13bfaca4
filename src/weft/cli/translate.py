"""weft translate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Beam, Device, Settings
from weft.core.errors import UserError


def translate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    input_file: Annotated[
        Path | None,
        typer.Argument(metavar="INPUT", help="Text, a sentence a line unless --paragraphs. Default: standard input."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write. Default: standard output.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with scores, pieces and alternatives.")
    ] = False,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Lines may hold several sentences: translate each, keep the layout.")
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="With --paragraphs: the language of the text, as de or pt-BR. Default: en.")
    ] = None,
    beam: Beam = None,
    best: Annotated[int | None, typer.Option(min=1, help="How many alternatives to give with --json.")] = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Translate text, a line out for each line in."""
    from weft.engine.load import load_translator
    from weft.engine.output import write_paragraphs, write_translations
    from weft.text.sentences import Splitter

    if best is not None and not json:
        raise UserError("--best asks for alternatives, which only --json shows: add --json, or leave --best out.")
    if language is not None and not paragraphs:
        raise UserError("--language says how --paragraphs finds sentences: add --paragraphs, or leave --language out.")
    splitter = Splitter("en" if language is None else language)  # a wrong code is told before the model is loaded
    translator = load_translator(model, device=device, beam=beam, best=best, overrides=settings or [])
    if paragraphs:
        write_paragraphs(translator, splitter, input_file, output, as_json=json)
    else:
        write_translations(translator, input_file, output, as_json=json)
