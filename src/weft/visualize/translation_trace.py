"""Translate one sentence and record what happens inside the model: every traced tensor, and the steps of each
recurrent cell.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS
from weft.core.tracing import trace_tensors
from weft.data.batches import Batch, pad_rows
from weft.decoding.constraints.request import Request
from weft.inference.translation import Translation
from weft.inference.translator import Translator
from weft.models.model import Model
from weft.text.tokenizer import Tokenizer, is_tokenizer
from weft.text.word_alignment import token_spans

HIDDEN_STATE, CELL_STATE, RECURRENCE = "h", "c", "recurrence"  # names that cells trace; only an LSTM has a c

FloatArray: TypeAlias = NDArray[np.float64]


class TracedExample(NamedTuple):
    """Input to trace a model with, and how a figure describes it."""

    source: Padded  # token ids [1,S] or image columns [1,S,H], with the end token or column
    target: list[int]  # with the end token
    title: tuple[str, ...]
    remarks: tuple[str, ...]


class CellTrace(NamedTuple):
    """The tensors that a recurrent cell traced, in the order of its steps."""

    module: str  # path of the cell, such as encoder.0.backward
    labels: tuple[str, ...]  # the token at each position of the sentence
    tensors: dict[str, list[Tensor]]  # gates and states: [1,D] per step

    def in_sentence_order(self, values: FloatArray) -> FloatArray:
        """Reorder values [T,...] from steps to positions: a backward cell reads the last position first."""
        return values[::-1].copy() if "backward" in self.module.split(".") else values


def trace_translation(translator: Translator, sentence: str | Request) -> tuple[Translation, TracedExample]:
    """Translate a sentence or a request; also return the input that makes the model produce it by teacher forcing."""
    request = Request.of(sentence)
    source, remarks = encode_source(translator, request)
    [translation] = translator.stream([request])
    if translation.analysis is None:
        raise UserError(
            "there is no single output to inspect: the model gives every "
            "output probability 0, because its weights are broken; train it again"
        )
    target, title = [*translation.analysis.tokens, EOS], (request.text, f"→ {translation.text}")
    return translation, TracedExample(source, target, title, remarks)


def encode_source(translator: Translator, request: Request) -> tuple[Padded, tuple[str, ...]]:
    """Encode a sentence, or the image at a path; also return a remark if it had to be truncated."""
    is_text = is_tokenizer(translator.trained.source_tokenizer)
    if not request.text.strip():
        raise UserError(
            'the sentence is empty: write one in quotation marks, such as "A man sleeps."'
            if is_text
            else "this model reads images, and none is named: give the path of one"
        )
    [encoded] = translator.encode([request], [0])
    limit = f"{translator.max_source_length()} {'tokens' if is_text else 'columns'}"
    remarks = (f"truncated: the model reads at most {limit}",) if encoded.truncated else ()
    return pad_rows([encoded.rows[0]]), remarks


def require_source_tokenizer(translator: Translator) -> Tokenizer:
    """Return the source tokenizer; raise UserError if the model reads images."""
    tokenizer = translator.trained.source_tokenizer
    if not is_tokenizer(tokenizer):
        raise UserError(
            "this model reads images, and this figure is about text: use weft inspect attention (models with a "
            "decoder) or weft inspect frames (models with a frame head)"
        )
    return tokenizer


def trace_features(model: Model, example: TracedExample) -> dict[str, list[Tensor]]:
    """Return every tensor that the model traces while it reads the source and, if it has a decoder, the target."""
    batch = Batch(example.source, Padded.from_rows([example.target]), (0,)).to(next(model.parameters()).device)
    with trace_tensors() as traced:
        if model.has_decoder:
            model.features(batch)
        else:
            model.frames(batch.source)
    return traced


def trace_cells(translator: Translator, sentence: str | Request) -> tuple[TracedExample, list[CellTrace]]:
    """Trace the recurrent cells while the model reads a sentence and its translation.

    The cells are ordered: encoder first, lowest layer first. A language model reads the sentence as its target. Raise
    UserError if the model has no recurrent cells.
    """
    model = translator.trained.model
    tokenizers = require_source_tokenizer(translator), translator.trained.target_tokenizer
    if model.is_language_model:
        example = _language_model_example(translator, Request.of(sentence).text)
    else:
        _, example = trace_translation(translator, sentence)
    traced = group_by_module(trace_features(model, example))
    labels = input_labels(example, *tokenizers)
    cells = [
        CellTrace(module, labels[module.split(".")[0]], tensors)
        for module, tensors in traced.items()
        if HIDDEN_STATE in tensors and module.split(".")[0] in labels  # modules inside a chain have no labels
    ]
    if not cells:
        raise UserError(
            "this model has no recurrent cells, so there are no gates and no states to follow through time; for a "
            "Transformer use weft inspect attention"
        )
    return example, cells


def _language_model_example(translator: Translator, sentence: str) -> TracedExample:
    [ids] = translator.trained.target_tokenizer.encode([sentence])
    limit = translator.trained.model.target.max_length
    if limit is not None and len(ids) >= limit:
        raise UserError(
            f"the sentence is too long: it has {len(ids)} tokens, and this model reads at most {limit - 1}; shorten it"
        )
    return TracedExample(Padded.from_rows([[EOS]]), [*ids, EOS], (sentence,), ())


def group_by_module(traced: dict[str, list[Tensor]]) -> dict[str, dict[str, list[Tensor]]]:
    """Split each name: encoder.0.forward.reset becomes the tensor "reset" of the module encoder.0.forward."""
    modules: dict[str, dict[str, list[Tensor]]] = {}
    for path, tensors in traced.items():
        module, _, name = path.rpartition(".")
        modules.setdefault(module, {})[name] = tensors
    return modules


def input_labels(example: TracedExample, source: Tokenizer, target: Tokenizer) -> dict[str, tuple[str, ...]]:
    """Return the tokens that the encoder reads (with the end token) and the decoder reads (after the begin token)."""
    encoder = token_spans(example.source.data[0].tolist(), source)
    decoder = token_spans([BOS, *example.target[:-1]], target)
    return {"encoder": tuple(span.name for span in encoder), "decoder": tuple(span.name for span in decoder)}
