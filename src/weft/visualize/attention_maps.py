"""Cross-attention of a translation between source and target words or tokens, and its heat map.

draw_attention(weft.load("runs/first"), "A man sleeps.", "attention.png")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.models.model import Model
from weft.text.tokenizer import Tokenizer, is_tokenizer
from weft.text.word_alignment import TokenSpan, merge_weights, token_spans, word_spans
from weft.visualize.figures import check_figure_path, save_figure
from weft.visualize.heatmap import Heatmap, SourceImage, draw_heatmap, read_source_image
from weft.visualize.translation_trace import (
    FloatArray,
    TracedExample,
    TracedTranslation,
    require_source_tokenizer,
    trace_features,
    trace_translation,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AttentionUnit = Literal["words", "tokens"]
SPAN_FUNCTIONS = {"words": word_spans, "tokens": token_spans}


class AttentionMap(NamedTuple):
    """The attention weights of a translation, with the end tokens in the last row and column.

    image: the source, if it is an image; then `source` numbers the positions of the encoder's output.
    """

    sentence: str
    translation: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: FloatArray  # [T,S]; a row sums to 1, or less where a local window fades out
    remarks: tuple[str, ...]
    image: SourceImage | None = None

    def heatmap(self) -> Heatmap:
        title = self.sentence, f"→ {self.translation}"
        return Heatmap(title, self.remarks, self.target, self.source, self.weights, "attention weight")

    def figure(self) -> Figure:
        return draw_heatmap(self.heatmap(), self.image)


class AttentionHeads(NamedTuple):
    """The attention weights [T,S] of every layer and head.

    output: the weights that the decoder itself returns; of a Transformer the mean over the heads of its last layer.
    """

    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    output: FloatArray
    layers: list[list[FloatArray]]
    remarks: tuple[str, ...]


def draw_attention(
    translator: Translator,
    sentence: str,
    output: Path | str,
    *,
    layer: int | None = None,
    head: int | None = None,
    unit: AttentionUnit = "words",
) -> AttentionMap:
    """Translate a sentence, or the image at a path, and save its attention as .png, .svg or .pdf.

    layer, head: counted from 1. Default: the weights that the decoder returns (of a Transformer the mean over the
    heads of its last layer); with a layer only, the mean over its heads.
    """
    check_figure_path(Path(output))
    attention = attention_map(translator, sentence, layer=layer, head=head, unit=unit)
    save_figure(attention.figure, Path(output))
    return attention


def attention_map(
    translator: Translator,
    sentence: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    unit: AttentionUnit = "words",
) -> AttentionMap:
    """Return the attention that `draw_attention` draws."""
    translated, weights = _token_attention(translator, sentence, layer, head)
    trained, example = translator.trained, translated.example
    tokenizer, image = trained.source_tokenizer, None
    if is_tokenizer(tokenizer):
        source = _source_spans(example, weights, tokenizer, unit)
    else:
        source = [TokenSpan(str(position + 1), position, position + 1) for position in range(weights.shape[1])]
        with torch.inference_mode():
            columns = example.source.to(trained.device)
            image = read_source_image(columns, lambda blank: trained.model.encode(blank).mask)
    target = SPAN_FUNCTIONS[unit](example.target, trained.target_tokenizer)
    layer_name = [] if layer is None else [f"layer {layer}, {'mean of its heads' if head is None else f'head {head}'}"]
    return AttentionMap(
        sentence,
        translated.translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merge_weights(weights, target, source),
        (*layer_name, *example.remarks),
        image,
    )


def attention_heads(translator: Translator, sentence: str | Request, unit: AttentionUnit = "words") -> AttentionHeads:
    """Translate a sentence and return the attention of every layer and head."""
    tokenizer = require_source_tokenizer(translator)
    translated, weights = _token_attention(translator, sentence, None, None)
    trained, example = translator.trained, translated.example
    source = _source_spans(example, weights, tokenizer, unit)
    target = SPAN_FUNCTIONS[unit](example.target, trained.target_tokenizer)
    layers = [
        [merge_weights(head.double().cpu().numpy(), target, source) for head in layer]
        for layer in cross_attention_layers(trained.model, example)
    ]
    return AttentionHeads(
        translated.translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merge_weights(weights, target, source),
        layers,
        example.remarks,
    )


def _token_attention(
    translator: Translator, sentence: str | Request, layer: int | None, head: int | None
) -> tuple[TracedTranslation, FloatArray]:
    """Return a translation and the weights [T,S] between tokens, of the search or of a layer."""
    if layer is None and head is not None:
        raise UserError(f"--head {head}: the layer is missing; add --layer N, or leave --head out")
    if not translator.trained.model.has_decoder:
        raise UserError("this model has no decoder, and therefore no attention; use weft inspect frames")
    translated = trace_translation(translator, sentence)
    if not translated.hypothesis.attention:
        raise UserError("the decoder of this model has no attention to the source: there is nothing to draw")
    if layer is None:
        return translated, np.array(translated.hypothesis.attention)
    weights = select_head(cross_attention_layers(translator.trained.model, translated.example), layer, head)
    return translated, weights.double().cpu().numpy()


@torch.inference_mode()
def cross_attention_layers(model: Model, example: TracedExample) -> list[Tensor]:
    """Return the cross-attention weights [H,T,S] of each decoder layer, by teacher forcing."""
    traced = trace_features(model, example)
    names = [name for name in traced if name.startswith("decoder.") and name.endswith(".cross_attention")]
    return [traced[name][0][0] for name in names]


def select_head(layers: list[Tensor], layer: int, head: int | None) -> Tensor:
    """Return the weights [T,S] of a head, or the mean over a layer's heads; both are counted from 1."""
    if len(layers) == 1 and len(layers[0]) == 1:
        raise UserError("this model has one attention with one head: leave out --layer and --head")
    if not 1 <= layer <= len(layers):
        raise UserError(f"--layer {layer}: this decoder has layers 1 to {len(layers)}")
    heads = layers[layer - 1]
    if head is None:
        return heads.mean(0)
    if not 1 <= head <= len(heads):
        raise UserError(f"--head {head}: this layer has heads 1 to {len(heads)}")
    return heads[head - 1]


def _source_spans(
    example: TracedExample, weights: FloatArray, tokenizer: Tokenizer, unit: AttentionUnit
) -> list[TokenSpan]:
    """Return the source words or tokens; raise UserError if the encoder merges tokens."""
    ids = example.source.data[0].tolist()
    if len(ids) != weights.shape[1]:
        raise UserError(
            f"the encoder of this model reduces the {len(ids)} tokens of the sentence to {weights.shape[1]}: "
            "its attention cannot be assigned to tokens"
        )
    return SPAN_FUNCTIONS[unit](ids, tokenizer)
