"""weft inspect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import Beam, Device, Settings

inspect = typer.Typer(
    name="inspect", help="Draw what happens inside a model.", no_args_is_help=True, rich_markup_mode=None
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")]
Sentence = Annotated[
    str, typer.Argument(metavar="SENTENCE", help="What to translate, or a language model reads, in quotation marks.")
]
Output = Annotated[Path, typer.Option(help="The picture to write: .png, .svg or .pdf.")]


@inspect.command()
def attention(
    model: Model,
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="SENTENCE",
            help="What to translate, in quotation marks; the path of a picture, if it reads pictures.",
        ),
    ],
    output: Output = Path("attention.png"),
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
    from weft.engine.output import check_output
    from weft.inspect.attention import draw

    check_output(output, [Path(sentence)])
    translator = load_translator(model, device=device, beam=beam, overrides=settings or [])
    shown = draw(translator, sentence, output, layer=layer, head=head, unit="pieces" if pieces else "words")
    print(f"{output}: {shown.translation}")


@inspect.command()
def frames(
    model: Model,
    line: Annotated[
        str,
        typer.Argument(
            metavar="LINE",
            help="What the model reads, in quotation marks; the path of a picture, if it reads pictures.",
        ),
    ],
    output: Output = Path("frames.png"),
    target: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Show how the frames would spell this. Default: their best path.")
    ] = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Draw what each frame of a model with a lattice says of the classes that matter."""
    from weft.engine.load import load_translator
    from weft.engine.output import check_output
    from weft.inspect.frames import draw

    check_output(output, [Path(line)])
    translator = load_translator(model, device=device, overrides=settings or [])
    shown = draw(translator, line, output, target=target)
    print(f"{output}: {shown.text}")


@inspect.command()
def gates(
    model: Model,
    sentence: Sentence,
    output: Output = Path("gates.png"),
    side: Annotated[
        Literal["encoder", "decoder"] | None, typer.Option(help="Default: the encoder, if it has gates.")
    ] = None,
    place: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="A layer, a cell or a gate, as encoder.0.forward. Default: all of a side."),
    ] = None,
    units: Annotated[bool, typer.Option("--units", help="Show each unit of one gate instead of their mean.")] = False,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Draw how far the gates of a recurrent model are open at each piece of a sentence."""
    from weft.engine.load import load_translator
    from weft.inspect.gates import draw

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [], language_models=True)
    shown = draw(translator, sentence, output, side=side, place=place, rows="units" if units else "gates")
    print(f"{output}: {', '.join(gate.path for gate in shown)}")


@inspect.command()
def gradients(
    model: Model,
    sentence: Sentence,
    output: Output = Path("gradients.png"),
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Draw how much of a gradient goes back through the steps of a recurrent model."""
    from weft.engine.load import load_translator
    from weft.inspect.gradients import draw

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [], language_models=True)
    shown = draw(translator, sentence, output)
    print(f"{output}: {', '.join(flow.place for flow in shown)}")


@inspect.command()
def search(
    model: Model,
    sentence: Sentence,
    output: Annotated[
        Path | None, typer.Option(help="The picture to write: .png, .svg or .pdf. Default: search.svg, without --text.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the tree instead, a line for each hypothesis.")] = False,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Draw the tree of a search: every hypothesis that it kept or dropped."""
    from weft.engine.load import load_translator
    from weft.inspect.searching import draw, show

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [])
    if text:
        print(show(translator, sentence, output))
    else:
        picture = output or Path("search.svg")
        print(f"{picture}: {draw(translator, sentence, picture)}")
