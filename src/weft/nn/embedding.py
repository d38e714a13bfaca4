"""Tokens to vectors, looked up; or to nothing."""

import torch
from torch import Tensor, nn

from weft.core.types import Count, Make, Positive, Rate, Vocabulary
from weft.nn.initial import normal
from weft.nn.placing import Merge, Placing
from weft.nn.positions import Positions


class Embedding(nn.Module):
    """x = E[token] sqrt(D), merged with the position's vector by sum, mean or concatenation, then dropout.

    The factor sqrt(D) (Vaswani et al. 2017, section 3.4) undoes the initial deviation D^-1/2, which suits a weight that
    is tied to the output layer; `deviation` sets another one. sparse: the gradient of E holds only the rows of tokens
    that occur, which saves time with a large vocabulary; see optim/lazy_adam.py.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        dim: Count = 256,
        scaled: bool = True,
        deviation: Positive | None = None,
        positions: Make[Positions] | None = None,
        merge: Merge = "sum",
        dropout: Rate = 0.0,
        sparse: bool = False,
    ):
        super().__init__()
        self.placing = Placing(dim, positions, merge, dropout)
        self.dim, self.limit = self.placing.dim, self.placing.limit
        self.weight = nn.Parameter(normal(len(vocabulary), dim, deviation=deviation or dim**-0.5))
        self.scale = dim**0.5 if scaled else 1.0
        self.sparse = sparse

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        placed: Tensor = self.placing(nn.functional.embedding(ids, self.weight, sparse=self.sparse) * self.scale, first)
        return placed


class NoEmbedding(nn.Module):
    """Vectors of width 0, of whatever tokens: there is nothing to learn, and nothing to read."""

    dim = 0
    limit: int | None = None
    weight: nn.Parameter | None = None

    nothing: Tensor

    def __init__(self, vocabulary: Vocabulary):  # noqa: ARG002 (as all embeddings)
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0), persistent=False)

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:  # noqa: ARG002 (as all embeddings)
        """ids [N,T] -> [N,T,0]."""
        return self.nothing.expand(*ids.shape, 0)
