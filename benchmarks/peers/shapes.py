"""The models that every toolkit here can train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Cell = Literal["lstm", "gru"]
Score = Literal["general", "additive"]


@dataclass(frozen=True)
class Recurrent:
    """The encoder-decoder with attention that all toolkits here have (Luong et al. 2015, with input feeding):

    one layer both ways in the encoder, `hidden` numbers a direction; one layer of 2 `hidden` in the decoder, which
    starts from the encoder's last states; attention is asked after the cell, and h~ has 2 `hidden` numbers as well.
    Nothing is tied. What the toolkits call Bahdanau or MLP attention is this decoder with the additive score.
    """

    cell: Cell = "lstm"
    score: Score = "general"
    embedding: int = 256
    hidden: int = 256
    dropout: float = 0.2  # on both embeddings and h~, or what a toolkit has nearest to it

    @property
    def decoder(self) -> int:
        return 2 * self.hidden


@dataclass(frozen=True)
class Transformer:
    """Vaswani et al. 2017, with `layers` on each side and norms before them; sinusoidal positions, ReLU.

    One weight is both embeddings and the output layer. Dropout falls on embeddings, on attention, within the
    position-wise network and before each sum.
    """

    layers: int
    dim: int
    hidden: int
    heads: int
    dropout: float


TINY = Transformer(layers=4, dim=128, hidden=256, heads=4, dropout=0.3)  # Wu et al. 2021
BASE = Transformer(layers=6, dim=512, hidden=2048, heads=8, dropout=0.1)  # Vaswani et al. 2017
TRANSFORMERS: Mapping[str, Transformer] = MappingProxyType({"tiny": TINY, "base": BASE})
