"""Translating one sentence while its attention is watched."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, Step
from weft.core.watch import watching
from weft.data.batches import Batch
from weft.engine.translator import Translation, Translator
from weft.inspect.alignment import Weights
from weft.model.model import Model
from weft.search.role import Search


class Looked(NamedTuple):
    """A translation in pieces: the ids of both sides, END last, and the weights [T,S] between them."""

    translation: Translation
    source: list[int]
    target: list[int]
    weights: Weights


class Keeping:
    """A search that keeps what it found: a `Translation` has the text of a hypothesis, not its ids and attention."""

    def __init__(self, search: Search):
        self.search = search
        self.found: list[Hypothesis] = []

    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        found = self.search(step, state, limit)
        self.found.extend(hypothesis for hypotheses in found for hypothesis in hypotheses)
        return found


def look(translator: Translator, sentence: str, layer: int | None, head: int | None) -> Looked:
    """Translate the sentence, and see what the best output looked at.

    Without a layer these are the weights that the search was given; of a layer, one head's or the mean of its heads.
    """
    if not sentence.strip():
        raise UserError('the sentence is empty: write one in quotation marks, as weft attention MODEL "A man sleeps."')
    if layer is None and head is not None:
        raise UserError(f"--head {head}: of which layer? Add --layer N, or leave --head out.")
    translation, hypothesis = translate(translator, sentence)
    ids = translator.trained.source_tokenizer.encode([sentence])[0]
    source, target = [*ids[: translator.source_limit()], END], [*hypothesis.tokens, END]
    if layer is None:
        return Looked(translation, source, target, np.array(hypothesis.attention))
    chosen = choose(across(translator.trained.model, source, target), layer, head)
    return Looked(translation, source, target, chosen.double().cpu().numpy())


def translate(translator: Translator, sentence: str) -> tuple[Translation, Hypothesis]:
    """The translation, and the hypothesis that it is the text of."""
    keeping = Keeping(translator.search)
    [translation] = replace(translator, search=keeping).translate([sentence])
    if not keeping.found:
        raise UserError("the model finds no translation possible: its weights are broken; train it again")
    if not keeping.found[0].attention:
        raise UserError("the decoder of this model does not look at the source: there is no attention to draw")
    return translation, keeping.found[0]


@torch.inference_mode()
def across(model: Model, source: list[int], target: list[int]) -> list[Tensor]:
    """The weights [H,T,S] of each of the decoder's layers that looks at the source, when fed these ids."""
    device = next(model.parameters()).device
    with watching() as seen:
        model.features(Batch(Padded.of([source]), Padded.of([target]), (0,)).to(device))
    names = [name for name in seen if name.startswith("decoder.") and name.endswith(".across")]
    return [seen[name][0][0] for name in names]


def choose(layers: list[Tensor], layer: int, head: int | None) -> Tensor:
    """[T,S] of one head, or the mean of a layer's heads; layers and heads are counted from 1."""
    if len(layers) == 1 and len(layers[0]) == 1:
        raise UserError("this model has one attention with one head: leave out --layer and --head")
    if not 1 <= layer <= len(layers):
        raise UserError(f"--layer {layer}: the last layer of this decoder is {len(layers)} (the first is 1)")
    heads = layers[layer - 1]
    if head is None:
        return heads.mean(0)
    if not 1 <= head <= len(heads):
        raise UserError(f"--head {head}: the last head of this layer is {len(heads)} (the first is 1)")
    return heads[head - 1]
