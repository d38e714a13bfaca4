"""Model shapes that every toolkit can train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Cell = Literal["lstm", "gru"]
Score = Literal["general", "additive"]


@dataclass(frozen=True)
class Recurrent:
    """Recurrent encoder-decoder with attention and input feeding (Luong et al. 2015).

    The encoder has one bidirectional layer with `hidden` units per direction. The decoder has one layer of 2 `hidden`
    units, starts from the encoder's last states, and attends after the cell; the attentional state has 2 `hidden`
    units. No weights are tied. The Bahdanau or MLP attention of the toolkits is this decoder with the additive score.
    """

    cell: Cell = "lstm"
    score: Score = "general"
    embedding: int = 256
    hidden: int = 256
    dropout: float = 0.2  # on both embeddings and the attentional state, or the nearest equivalent

    @property
    def decoder(self) -> int:
        return 2 * self.hidden


@dataclass(frozen=True)
class Transformer:
    """Pre-norm Transformer (Vaswani et al. 2017), `layers` per side, sinusoidal positions, ReLU.

    Both embeddings and the output layer are tied. Dropout applies to the embeddings, the attention weights, inside the
    feed-forward network and before each residual sum.
    """

    layers: int
    dim: int
    hidden: int
    heads: int
    dropout: float


TINY = Transformer(layers=4, dim=128, hidden=256, heads=4, dropout=0.3)  # Wu et al. 2021
BASE = Transformer(layers=6, dim=512, hidden=2048, heads=8, dropout=0.1)  # Vaswani et al. 2017
TRANSFORMERS: Mapping[str, Transformer] = MappingProxyType({"tiny": TINY, "base": BASE})
