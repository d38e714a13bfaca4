"""`weft inspect`: draw attention, frames, gates, gradients and the search tree."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import BeamOption, DeviceOption, ModelArgument, SetOption

inspect_app = typer.Typer(
    name="inspect", help="Draw what happens inside a model.", no_args_is_help=True, rich_markup_mode=None
)

SentenceArgument = Annotated[str, typer.Argument(metavar="SENTENCE", help="The sentence, in quotation marks.")]
ImageArgument = Annotated[str, typer.Argument(metavar="SENTENCE", help="The sentence, or the path of an image.")]
FigureOption = Annotated[Path, typer.Option(help="The figure to write: .png, .svg or .pdf.")]


@inspect_app.command()
def attention(
    model: ModelArgument,
    sentence: ImageArgument,
    output: FigureOption = Path("attention.png"),
    layer: Annotated[
        int | None, typer.Option(min=1, help="A decoder layer, from 1. Default: the reported one.")
    ] = None,
    head: Annotated[int | None, typer.Option(min=1, help="A head of that layer, from 1. Default: the mean.")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Show tokens instead of words.")] = False,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw the attention of each word of a translation to the words of the source."""
    from weft.core.files import check_output_file
    from weft.inference.loader import load_translator
    from weft.visualize.attention_weights import draw_attention

    check_output_file(output, [Path(sentence)])
    translator = load_translator(model, device=device, beam=beam, overrides=settings or [])
    unit: Literal["words", "tokens"] = "tokens" if tokens else "words"
    drawn = draw_attention(translator, sentence, output, layer=layer, head=head, unit=unit)
    print(f"{output}: {drawn.text}")


@inspect_app.command()
def frames(
    model: ModelArgument,
    sentence: ImageArgument,
    output: FigureOption = Path("frames.png"),
    target: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Align the frames with this text. Default: their best path.")
    ] = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw the most relevant class probabilities of each frame of a model with a frame head."""
    from weft.core.files import check_output_file
    from weft.inference.loader import load_translator
    from weft.visualize.frame_posteriors import draw_frames

    check_output_file(output, [Path(sentence)])
    translator = load_translator(model, device=device, overrides=settings or [])
    drawn = draw_frames(translator, sentence, output, target=target)
    print(f"{output}: {drawn.text}")


@inspect_app.command()
def gates(
    model: ModelArgument,
    sentence: SentenceArgument,
    output: FigureOption = Path("gates.png"),
    side: Annotated[
        Literal["encoder", "decoder"] | None, typer.Option(help="The side to draw. Default: encoder, if it has gates.")
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="MODULE", help="A layer, cell or gate, such as encoder.0.forward. Default: all."),
    ] = None,
    units: Annotated[bool, typer.Option("--units", help="Show each unit of one gate instead of the mean.")] = False,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw the gate activations of a recurrent model at each token of a sentence."""
    from weft.inference.loader import load_translator
    from weft.visualize.gate_activations import draw_gates

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [], allow_language_model=True)
    drawn = draw_gates(translator, sentence, output, side=side, module=module, rows="units" if units else "gates")
    print(f"{output}: {', '.join(gate.path for gate in drawn)}")


@inspect_app.command()
def gradients(
    model: ModelArgument,
    sentence: SentenceArgument,
    output: FigureOption = Path("gradients.png"),
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw how much of the gradient flows back through the time steps of a recurrent model."""
    from weft.inference.loader import load_translator
    from weft.visualize.gradient_flow import draw_gradients

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [], allow_language_model=True)
    drawn = draw_gradients(translator, sentence, output)
    print(f"{output}: {', '.join(flow.module for flow in drawn)}")


@inspect_app.command()
def search(
    model: ModelArgument,
    sentence: SentenceArgument,
    output: Annotated[
        Path | None, typer.Option(help="The figure to write: .png, .svg or .pdf. Default: search.svg, without --text.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the tree, a line for each hypothesis.")] = False,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Draw the tree of a search: every hypothesis that was kept or dropped."""
    from weft.inference.loader import load_translator
    from weft.visualize.search_tree import draw_search, trace_search

    translator = load_translator(model, device=device, beam=beam, overrides=settings or [])
    if text:
        trace = trace_search(translator, sentence) if output is None else draw_search(translator, sentence, output)
        print(trace.render())
    else:
        figure = output or Path("search.svg")
        print(f"{figure}: {draw_search(translator, sentence, figure).translation.text}")
