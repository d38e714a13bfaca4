"""Tokens to vectors, with their positions; or to nothing."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core.types import Count, Make, Rate
from weft.nn.dropout import Dropout
from weft.nn.positions import Positions


class Embedding(nn.Module):
    """x = E[token] sqrt(D), merged with the position's vector by sum, mean or concatenation, then dropout.

    The factor sqrt(D) (Vaswani et al. 2017, section 3.4) undoes the initial deviation D^-1/2, which suits a weight that
    is tied to the output layer. `concat` gives vectors of width 2 D.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        dim: Count = 256,
        scaled: bool = True,
        positions: Make[Positions] | None = None,
        merge: Literal["sum", "mean", "concat"] = "sum",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocabulary, dim) * dim**-0.5)
        self.scale = dim**0.5 if scaled else 1.0
        self.positions = positions(dim) if positions else None
        self.merge = merge
        self.dim = 2 * dim if positions and merge == "concat" else dim
        self.limit = self.positions.limit if self.positions else None
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        tokens = nn.functional.embedding(ids, self.weight) * self.scale
        if self.positions is None:
            return self.dropout(tokens)
        index = first[:, None] + torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self._merged(tokens, self.positions(index).to(tokens.dtype)))

    def _merged(self, tokens: Tensor, places: Tensor) -> Tensor:
        match self.merge:
            case "sum":
                return tokens + places
            case "mean":
                return (tokens + places) / 2
            case "concat":
                return torch.cat([tokens, places], -1)


class NoEmbedding(nn.Module):
    """Vectors of width 0, of whatever tokens: there is nothing to learn, and nothing to read."""

    dim = 0
    limit: int | None = None

    def __init__(self, vocabulary: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(vocabulary, 0))

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:  # noqa: ARG002 (as all embeddings)
        """ids [N,T] -> [N,T,0]."""
        return nn.functional.embedding(ids, self.weight)
