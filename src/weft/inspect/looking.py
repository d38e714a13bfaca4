"""What the best translation of a sentence looked at."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.inspect.grid import Numbers
from weft.inspect.translating import Fed, Translated, translate, watch_features
from weft.model.model import Model


class Looked(NamedTuple):
    """A translation, and the weights [T,S] between the pieces of its two sides."""

    translated: Translated
    weights: Numbers


def look(translator: Translator, sentence: str | Request, layer: int | None, head: int | None) -> Looked:
    """Translate the sentence, and see what the best output looked at.

    Without a layer these are the weights that the search was given; of a layer, one head's or the mean of its heads.
    """
    if layer is None and head is not None:
        raise UserError(f"--head {head}: of which layer? Add --layer N, or leave --head out.")
    if not translator.trained.model.has_decoder:
        raise UserError(
            "this model has no decoder that could look at the source: what it says is drawn by weft inspect frames"
        )
    translated = translate(translator, sentence)
    if not translated.hypothesis.attention:
        raise UserError("the decoder of this model does not look at the source: there is no attention to draw")
    if layer is None:
        return Looked(translated, np.array(translated.hypothesis.attention))
    chosen = choose(across(translator.trained.model, translated.fed), layer, head)
    return Looked(translated, chosen.double().cpu().numpy())


@torch.inference_mode()
def across(model: Model, fed: Fed) -> list[Tensor]:
    """The weights [H,T,S] of each of the decoder's layers that looks at the source, when it is fed this."""
    seen = watch_features(model, fed)
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
