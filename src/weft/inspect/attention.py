"""A picture of what each word of a translation looked at.

draw(weft.load("runs/first"), "A man sleeps.", "attention.png")
"""

from pathlib import Path
from typing import Literal

import torch

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.engine.translator import Translator
from weft.inspect.alignment import Alignment
from weft.inspect.columns import Seen, see
from weft.inspect.looking import Looked, look
from weft.inspect.picture import check_suffix, write_picture
from weft.model.model import Model
from weft.text.reader import is_tokenizer
from weft.text.tokenizer import Tokenizer
from weft.text.words import Span, merged, pieces_of, words_of

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
    """Translate the sentence, or the picture whose path it is, and write the picture (.png, .svg or .pdf).

    Returns what the picture shows.

    layer and head, counted from 1: those of a decoder that has several, as a Transformer; without a head the mean of
    the layer's, without a layer what the decoder itself gives out (a Transformer: the mean of its last layer).
    """
    check_suffix(Path(output))
    alignment = align(translator, sentence, layer=layer, head=head, unit=unit)
    write_picture(alignment.figure, Path(output))
    return alignment


def align(
    translator: Translator, sentence: str, *, layer: int | None = None, head: int | None = None, unit: Unit = "words"
) -> Alignment:
    """The numbers of the picture."""
    looked = look(translator, sentence, layer, head)
    translated, trained = looked.translated, translator.trained
    reader, seen = trained.source_tokenizer, None
    if is_tokenizer(reader):
        source = source_spans(looked, reader, unit)
    else:
        source, seen = numbered(looked.weights.shape[1]), see_memory(trained.model, translated.fed.source)
    target = SPANS[unit](translated.fed.target, trained.target_tokenizer)
    return Alignment(
        sentence,
        translated.translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merged(looked.weights, target, source),
        remarks(looked, layer, head),
        seen,
    )


def source_spans(looked: Looked, tokenizer: Tokenizer, unit: Unit) -> list[Span]:
    """The words or pieces of the sentence, if every piece has its weight."""
    ids = looked.translated.fed.source.data[0].tolist()
    pieces, positions = len(ids), looked.weights.shape[1]
    if pieces != positions:
        raise UserError(
            f"the encoder of this model leaves {positions} position{'s' * (positions > 1)} for the {pieces} pieces of "
            "the sentence: which of the pieces is looked at cannot be told"
        )
    return SPANS[unit](ids, tokenizer)


def numbered(positions: int) -> list[Span]:
    """The positions of a memory that have no names, each by itself."""
    return [Span(str(number + 1), number, number + 1) for number in range(positions)]


@torch.inference_mode()
def see_memory(model: Model, source: Padded) -> Seen:
    """The picture, and how many of its columns a position of the memory stands for."""
    return see(source.to(next(model.parameters()).device), lambda columns: model.encode(columns).mask)


def remarks(looked: Looked, layer: int | None, head: int | None) -> tuple[str, ...]:
    """Whose weights they are, if a layer was asked for; and that the end of the sentence is missing, if it is."""
    whose = [] if layer is None else [f"layer {layer}, " + ("mean of its heads" if head is None else f"head {head}")]
    return (*whose, *looked.translated.fed.remarks)
