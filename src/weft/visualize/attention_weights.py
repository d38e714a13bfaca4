"""Cross-attention weights of a translation between source and target words or tokens (`weft inspect attention`).

`heatmap.py` draws them:

draw_attention(weft.load("runs/first"), "A man sleeps.", "attention.png")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.models.model import Model
from weft.text.tokenizer import is_tokenizer
from weft.text.word_alignment import TokenSpan, merge_weights, token_spans, word_spans
from weft.visualize.figures import check_figure_path, save_figure
from weft.visualize.heatmap import Heatmap, SourceImage, draw_heatmap, read_source_image
from weft.visualize.translation_trace import FloatArray, TracedExample, trace_features, trace_translation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AttentionUnit = Literal["words", "tokens"]
SPAN_FUNCTIONS = {"words": word_spans, "tokens": token_spans}


class AttentionMap(NamedTuple):
    """The attention weights [T,S] of a translation, with the end tokens in the last row and column.

    A row sums to 1, or less where a local window fades out. weights: of the layer or head that `draw_attention`
    selects. layers: of each layer, the weights of each head. image: the source, if it is an image; then `source`
    numbers the positions of the encoder's output.
    """

    sentence: str
    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: FloatArray
    layers: list[list[FloatArray]]
    remarks: tuple[str, ...]
    image: SourceImage | None = None
    spans: tuple[TokenSpan, ...] = ()  # as in `draw_heatmap`

    def heatmap(self) -> Heatmap:
        title = self.sentence, f"→ {self.text}"
        return Heatmap(title, self.remarks, self.target, self.source, self.weights, "attention weight")

    def figure(self) -> Figure:
        return draw_heatmap(self.heatmap(), self.image)


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


@torch.inference_mode()
def attention_map(
    translator: Translator,
    sentence: str | Request,
    *,
    layer: int | None = None,
    head: int | None = None,
    unit: AttentionUnit = "words",
) -> AttentionMap:
    """Return the attention that `draw_attention` draws."""
    if layer is None and head is not None:
        raise UserError(f"--head {head}: the layer is missing; add --layer N, or leave --head out")
    trained = translator.trained
    if not trained.model.has_decoder:
        raise UserError("this model has no decoder, and therefore no attention; use weft inspect frames")
    request = Request.of(sentence)
    translation, example = trace_translation(translator, request)
    [forced] = translator.forced(translator.encode([request], [0]), Padded.from_rows([example.target]))
    if not forced.attention:
        raise UserError("the decoder of this model has no attention to the source: there is nothing to draw")
    layers = cross_attention_layers(trained.model, example)
    selected = torch.tensor(forced.attention, dtype=torch.double) if layer is None else select_head(layers, layer, head)
    positions = selected.shape[1]
    if is_tokenizer(trained.source_tokenizer):
        image, ids = None, example.source.data[0].tolist()
        if len(ids) != positions:
            raise UserError(
                f"the encoder of this model reduces the {len(ids)} tokens of the sentence to {positions}: "
                "its attention cannot be assigned to tokens"
            )
        source = SPAN_FUNCTIONS[unit](ids, trained.source_tokenizer)
    else:
        columns = example.source.to(trained.device)
        image = read_source_image(columns, lambda blank: trained.model.encode(blank).mask)
        source = [TokenSpan(str(position + 1), position, position + 1) for position in range(positions)]
    target = SPAN_FUNCTIONS[unit](example.target, trained.target_tokenizer)
    layer_name = [] if layer is None else [f"layer {layer}, {'mean of its heads' if head is None else f'head {head}'}"]

    def merged(weights: Tensor) -> FloatArray:
        return merge_weights(weights.double().cpu().numpy(), target, source)

    return AttentionMap(
        request.text,
        translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merged(selected),
        [[merged(weights) for weights in heads] for heads in layers],
        (*layer_name, *example.remarks),
        image,
    )


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
