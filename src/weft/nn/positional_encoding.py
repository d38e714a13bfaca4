"""Positional encodings (sinusoidal, learned, rotary) and the layer that merges them with token embeddings."""

import math
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from weft.core.setting_types import Factory, PositiveFloat, PositiveInt
from weft.core.tracing import record_tensor
from weft.nn.dropout import Dropout
from weft.nn.layers import normal_init

PositionMerge = Literal["sum", "mean", "concat"]


class PositionalEncoding(Protocol):
    """A vector for each position, counted from 0. max_length: the number of positions (None: unlimited)."""

    max_length: int | None

    def __call__(self, index: Tensor) -> Tensor:
        """index [N,T] -> [N,T,D]."""
        ...


class SinusoidalPositions(nn.Module):
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(the same). Vaswani et al. 2017, section 3.5."""

    max_length: int | None = None

    def __init__(self, dim: int):
        super().__init__()
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even width, got {dim}")
        self.dim = dim

    def forward(self, index: Tensor) -> Tensor:
        positions = torch.arange(int(index.max()) + 1, device=index.device)
        angles = positions[:, None] * position_frequencies(self.dim, index.device)  # [length,D/2], always float32
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[index]


class LearnedPositions(nn.Module):
    """A free vector per position. Gehring et al. 2017, section 3.1. init_std: default D^-1/2."""

    def __init__(self, dim: int, *, max_length: PositiveInt = 512, init_std: PositiveFloat | None = None):
        super().__init__()
        self.max_length: int | None = max_length
        self.table = nn.Parameter(normal_init(max_length, dim, std=init_std or dim**-0.5))

    def forward(self, index: Tensor) -> Tensor:
        if int(index.max()) >= len(self.table):
            raise ValueError(f"position {int(index.max())} is past the {len(self.table)} learned ones")
        return self.table[index]


def position_frequencies(dim: int, device: torch.device) -> Tensor:
    """Return 10000^(-2i/D) [D/2]."""
    return torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))


def apply_rotary(x: Tensor, first: int | Tensor) -> Tensor:
    """Rotate each pair of columns of x [N,H,T,D] by p times its frequency, p = first, first+1, ...

    q'_p · k'_s then depends on p - s alone. Su et al. 2021 (pairs: column i with i + D/2).
    first: one number, or [N,1,1], one for each row.
    """
    positions = first + torch.arange(x.shape[-2], device=x.device)
    angles = positions[..., None] * position_frequencies(x.shape[-1], x.device)  # [T,D/2] or [N,1,T,D/2], float32
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)


class PositionMerger(nn.Module):
    """The end of every embedding: merge in the positional encoding, then dropout. `concat` doubles the width."""

    def __init__(self, dim: int, positions: Factory[PositionalEncoding] | None, merge: PositionMerge, dropout: float):
        super().__init__()
        self.positions = positions(dim) if positions else None
        self.merge = merge
        self.dim = 2 * dim if positions and merge == "concat" else dim
        self.max_length = self.positions.max_length if self.positions else None
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, first: Tensor) -> Tensor:
        """tokens [N,T,D], first [N] = the position of the first column -> [N,T,dim]."""
        if self.positions is None:
            return self.dropout(tokens)
        index = first[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        encoded = self.positions(index).to(tokens.dtype)
        record_tensor("positions", encoded)
        if self.merge == "concat":
            return self.dropout(torch.cat([tokens, encoded], -1))
        total = tokens + encoded
        return self.dropout(total / 2 if self.merge == "mean" else total)
