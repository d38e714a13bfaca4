"""Vectors of tokens, merged with vectors of their positions."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core.types import Make
from weft.core.watch import note
from weft.nn.dropout import Dropout
from weft.nn.positions import Positions

Merge = Literal["sum", "mean", "concat"]


class Placing(nn.Module):
    """What every embedding ends with: the position's vector is merged in, then dropout.

    `concat` gives vectors of width 2 D. `limit` is the longest sequence that can be placed (None: any).
    """

    def __init__(self, dim: int, positions: Make[Positions] | None, merge: Merge, dropout: float):
        super().__init__()
        self.positions = positions(dim) if positions else None
        self.merge = merge
        self.dim = 2 * dim if positions and merge == "concat" else dim
        self.limit = self.positions.limit if self.positions else None
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, first: Tensor) -> Tensor:
        """tokens [N,T,D], first [N] = the position of the first column -> [N,T,dim]."""
        if self.positions is None:
            return self.dropout(tokens)
        index = first[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        places = self.positions(index).to(tokens.dtype)
        note("positions", places)
        return self.dropout(self._merged(tokens, places))

    def _merged(self, tokens: Tensor, places: Tensor) -> Tensor:
        match self.merge:
            case "sum":
                return tokens + places
            case "mean":
                return (tokens + places) / 2
            case "concat":
                return torch.cat([tokens, places], -1)
