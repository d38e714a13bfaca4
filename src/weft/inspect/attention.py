"""A picture of what each word of a translation looked at.

draw(weft.load("runs/first"), "A man sleeps.", "attention.png")
"""

from functools import partial
from pathlib import Path
from typing import Literal

from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.inspect.alignment import Alignment
from weft.inspect.looking import Looked, look
from weft.inspect.picture import check_suffix, write_picture
from weft.inspect.squares import draw_squares
from weft.inspect.translating import source_tokenizer
from weft.inspect.words import merged, pieces_of, words_of

Unit = Literal["words", "pieces"]
SPANS = {"words": words_of, "pieces": pieces_of}


def draw(
    translator: Translator,
    sentence: str,
    output: Path | str,
    *,
    layer: int | None = None,
    head: int | None = None,
    unit: Unit = "words",
) -> Alignment:
    """Translate the sentence and write the picture (.png, .svg or .pdf); returns what it shows.

    layer and head, counted from 1: those of a decoder that has several, as a Transformer; without a head the mean of
    the layer's, without a layer what the decoder itself gives out (a Transformer: the mean of its last layer).
    """
    check_suffix(Path(output))
    alignment = align(translator, sentence, layer=layer, head=head, unit=unit)
    write_picture(partial(draw_squares, alignment.grid()), Path(output))
    return alignment


def align(
    translator: Translator, sentence: str, *, layer: int | None = None, head: int | None = None, unit: Unit = "words"
) -> Alignment:
    """The numbers of the picture."""
    looked = look(translator, sentence, layer, head)
    translated = looked.translated
    source = SPANS[unit](translated.fed.source, source_tokenizer(translator))
    check_positions(looked)
    target = SPANS[unit](translated.fed.target, translator.trained.target_tokenizer)
    return Alignment(
        sentence,
        translated.translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merged(looked.weights, target, source),
        remarks(looked, layer, head),
    )


def check_positions(looked: Looked) -> None:
    """Does every piece of the source have its weight?"""
    pieces, positions = len(looked.translated.fed.source), looked.weights.shape[1]
    if pieces != positions:
        raise UserError(
            f"the encoder of this model leaves {positions} position{'s' * (positions > 1)} for the {pieces} pieces of "
            "the sentence: which of the pieces is looked at cannot be told"
        )


def remarks(looked: Looked, layer: int | None, head: int | None) -> tuple[str, ...]:
    """Whose weights they are, if a layer was asked for; and that the end of the sentence is missing, if it is."""
    whose = [] if layer is None else [f"layer {layer}, " + ("mean of its heads" if head is None else f"head {head}")]
    return (*whose, *looked.translated.fed.remarks)
