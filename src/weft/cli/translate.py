"""weft translate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.asking import GlossaryFile, JsonInput, Prefix, Protect, asking_of
from weft.cli.engines import EngineOption, PrecisionOption, ShortlistOption, Verbose, needs_of
from weft.cli.options import Beam, Device, Settings
from weft.cli.several import Mean, Others, Weights, check_several, joining_of
from weft.cli.talking import Interactive, check_interactive, talk_with
from weft.cli.telling import (
    AlignmentFile,
    Attention,
    Dictionary,
    Likeliest,
    ReplaceUnknown,
    Told,
    wanted_of,
)
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.engine.translator import Translator


def translate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    input_file: Annotated[
        Path | None,
        typer.Argument(metavar="INPUT", help="Text, a sentence a line unless --paragraphs. Default: standard input."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write. Default: standard output.")] = None,
    interactive: Interactive = False,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with scores, pieces and alternatives.")
    ] = False,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Lines may hold several sentences: translate each, keep the layout.")
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="With --paragraphs: the language of the text, as de or pt-BR. Default: en.")
    ] = None,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    json_input: JsonInput = False,
    protect: Protect = None,
    alignments: AlignmentFile = None,
    attention: Attention = False,
    likeliest: Likeliest = None,
    replace_unknown: ReplaceUnknown = False,
    dictionary: Dictionary = None,
    beam: Beam = None,
    best: Annotated[
        int | None, typer.Option(min=1, help="How many alternatives to give with --json, or --interactive.")
    ] = None,
    others: Others = None,
    weights: Weights = None,
    mean: Mean = None,
    settings: Settings = None,
    engine: EngineOption = "auto",
    precision: PrecisionOption = None,
    shortlist: ShortlistOption = False,
    device: Device = "auto",
    verbose: Verbose = False,
) -> None:
    """Translate text, a line out for each line in."""
    from weft.engine.choice import Wish, choose
    from weft.engine.output import check_outputs, write_paragraphs, write_translations
    from weft.text.sentences import Splitter

    if interactive:
        check_interactive(
            {
                "INPUT": input_file,
                "--output": output,
                "--json": json,
                "--paragraphs": paragraphs,
                "--language": language,
                "--json-input": json_input,
                "--alignments": alignments,
                "--attention": attention,
                "--likeliest": likeliest,
            },
            {"--engine ctranslate2": engine == "ctranslate2", "--precision": precision},
            protect,
        )
    elif best is not None and not json:
        raise UserError(
            "--best asks for alternatives, which only --json and --interactive show: add one of them, or leave --best "
            "out."
        )
    check_paragraphs(paragraphs, language, json_input, alignments)
    told = Told(json, alignments, attention, likeliest, replace_unknown, dictionary)
    told.check()
    check_outputs([output, alignments], [input_file, *(file for file in (glossary, dictionary) if file is not None)])
    asking = asking_of(glossary, prefix, json_input, protect)
    splitter = Splitter("en" if language is None else language)  # a wrong code is told before the model is loaded
    check_several(others, weights, mean)

    def load() -> Translator:
        from weft.engine.load import load_translator

        joining, changed = joining_of(others, weights, mean), settings or []
        translator = load_translator(
            model, device=device, beam=beam, best=best, overrides=changed, joining=joining, shortlist=shortlist
        )
        return replace(translator, wanted=wanted_of(told, translator.trained))

    if interactive:
        tell_engine("torch: --interactive is asked for", verbose)
        talk_with(load(), asking, settings or [], best)
        return
    needs = needs_of(told, asking, {"--with": others, "--set": settings, "--best": best})
    chosen = choose(model, Wish(engine, precision, beam, needs, shortlist, device), load)
    tell_engine(chosen.told, verbose)
    if paragraphs:
        write_paragraphs(chosen.engine, splitter, input_file, output, as_json=json, asking=asking)
    else:
        write_translations(chosen.engine, input_file, output, as_json=json, asking=asking, alignments=alignments)


def tell_engine(told: str, verbose: bool) -> None:
    if verbose:
        print(f"weft: engine {told}", file=sys.stderr)


def check_paragraphs(paragraphs: bool, language: str | None, json_input: bool, alignments: Path | None) -> None:
    """Do these options make sense together?"""
    if language is not None and not paragraphs:
        raise UserError("--language says how --paragraphs finds sentences: add --paragraphs, or leave --language out.")
    if json_input and paragraphs:
        raise UserError("--json-input has a sentence a line, --paragraphs any number: leave out one of the two.")
    if alignments is not None and paragraphs:
        raise UserError(
            "--alignments has a row for each line, but --paragraphs translates the sentences of a line one by one: "
            "leave out one of the two. With --json, each sentence has its alignment."
        )
