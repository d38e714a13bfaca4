"""Embeddings: lookup tables for token ids, pixel columns of images, and the empty embedding of width 0."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.setting_types import Factory, PositiveFloat, PositiveInt, Rate
from weft.core.special_tokens import Vocabulary
from weft.nn.layers import normal_init
from weft.nn.positional_encoding import PositionalEncoding, PositionMerge, PositionMerger

MAX_PIXEL = 255


class TokenEmbedding(nn.Module):
    """x = E[token] sqrt(D), merged with the positional encoding by sum, mean or concatenation, then dropout.

    scale: the factor sqrt(D) (Vaswani et al. 2017, section 3.4), which undoes the initial deviation D^-1/2 that suits
    a weight tied to the output layer. init_std: another initial deviation. sparse: the gradient of E has only the rows
    of tokens that occur, which saves time with a large vocabulary; see optim/optimizers.py.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        dim: PositiveInt = 256,
        scale: bool = True,
        init_std: PositiveFloat | None = None,
        positions: Factory[PositionalEncoding] | None = None,
        merge: PositionMerge = "sum",
        dropout: Rate = 0.0,
        sparse: bool = False,
    ):
        super().__init__()
        self.merger = PositionMerger(dim, positions, merge, dropout)
        self.dim, self.max_length = self.merger.dim, self.merger.max_length
        self.weight = nn.Parameter(normal_init(len(vocabulary), dim, std=init_std or dim**-0.5))
        self.factor = dim**0.5 if scale else 1.0
        self.sparse = sparse

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        return self.merger(F.embedding(ids, self.weight, sparse=self.sparse) * self.factor, first)


class NoEmbedding(nn.Module):
    """Vectors of width 0, for a side that the model does not read."""

    dim = 0
    max_length: int | None = None
    weight: nn.Parameter | None = None

    empty: Tensor

    def __init__(self, vocabulary: Vocabulary):  # noqa: ARG002 (interface)
        super().__init__()
        self.register_buffer("empty", torch.zeros(0), persistent=False)

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:  # noqa: ARG002 (interface)
        """ids [N,T] -> [N,T,0]."""
        return self.empty.expand(*ids.shape, 0)


class PixelEmbedding(nn.Module):
    """x = column / 255, 0 for paper and 1 for ink; the vocabulary of images is their rows of pixels.

    Nothing is learned here: an encoder that sees the neighbors of each pixel, such as `image`, follows.
    """

    max_length: int | None = None
    weight: nn.Parameter | None = None

    unit: Tensor

    def __init__(self, vocabulary: Vocabulary):
        super().__init__()
        self.dim = len(vocabulary)
        self.register_buffer("unit", torch.tensor(1 / MAX_PIXEL), persistent=False)

    def forward(self, columns: Tensor, first: Tensor) -> Tensor:  # noqa: ARG002 (interface)
        """columns [N,T,H] -> [N,T,H]."""
        return columns * self.unit
