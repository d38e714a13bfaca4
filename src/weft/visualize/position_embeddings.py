"""The position vectors that a model adds to the embeddings of a sentence and its translation."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import torch

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.visualize.translation_trace import (
    FloatArray,
    input_labels,
    require_source_tokenizer,
    trace_features,
    trace_translation,
)

TextSide: TypeAlias = Literal["source", "target"]
SIDE_MODULES: dict[TextSide, str] = {"source": "encoder", "target": "decoder"}


class PositionVectors(NamedTuple):
    """The tokens of one side and a vector for each [T,D]."""

    side: TextSide
    labels: tuple[str, ...]
    vectors: FloatArray


@torch.inference_mode()
def position_vectors(translator: Translator, sentence: str | Request) -> list[PositionVectors]:
    """Translate a sentence and return the vectors of each side that has them; raise UserError if none has."""
    tokenizers = require_source_tokenizer(translator), translator.trained.target_tokenizer
    _, example = trace_translation(translator, sentence)
    traced, labels = trace_features(translator.trained.model, example), input_labels(example, *tokenizers)
    vectors = [
        PositionVectors(side, labels[module], traced[f"{side}.positions"][0][0].double().cpu().numpy())
        for side, module in SIDE_MODULES.items()
        if f"{side}.positions" in traced
    ]
    if not vectors:
        raise UserError(
            "this model adds no position vectors to its embeddings: it is recurrent, convolutional, or uses rotary "
            "positions"
        )
    return vectors
