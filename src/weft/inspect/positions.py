"""The vectors that tell a model where a piece stands, as they are merged with its embeddings."""

from typing import Literal, NamedTuple, TypeAlias

import torch

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.inspect.cells import labels_of
from weft.inspect.grid import Numbers
from weft.inspect.translating import source_tokenizer, translate, watch_features

Side: TypeAlias = Literal["source", "target"]
SIDES: dict[Side, str] = {"source": "encoder", "target": "decoder"}


class Placed(NamedTuple):
    """One side: its pieces, and a vector for each [T,D]."""

    side: Side
    labels: tuple[str, ...]
    vectors: Numbers


@torch.inference_mode()
def positions_of(translator: Translator, sentence: str | Request) -> list[Placed]:
    """Those of the sentence and of its translation, of the sides that have any."""
    tokenizers = source_tokenizer(translator), translator.trained.target_tokenizer
    fed = translate(translator, sentence).fed
    seen, labels = watch_features(translator.trained.model, fed), labels_of(fed, *tokenizers)
    found = [
        Placed(side, labels[reader], seen[f"{side}.positions"][0][0].double().cpu().numpy())
        for side, reader in SIDES.items()
        if f"{side}.positions" in seen
    ]
    if not found:
        raise UserError(
            "this model adds no positions to its embeddings: it knows the order of words by its steps, its windows or "
            "by turning what it compares"
        )
    return found
