"""Where a token stands: tables that are merged with embeddings, and the rotation of queries and keys."""

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Count, Positive
from weft.nn.initial import normal


class Positions(Protocol):
    """Vectors for positions counted from 0; `limit` is how many there are (None: any number)."""

    limit: int | None

    def __call__(self, index: Tensor) -> Tensor:
        """index [N,T] -> [N,T,D]."""
        ...


class Sinusoidal(nn.Module):
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(the same). Vaswani et al. 2017, section 3.5."""

    limit: int | None = None

    def __init__(self, dim: int):
        super().__init__()
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even width, got {dim}")
        self.dim = dim

    def forward(self, index: Tensor) -> Tensor:
        length = int(index.max()) + 1
        places = torch.arange(length, device=index.device)
        angles = places[:, None] * frequencies(
            self.dim, index.device
        )  # [length,D/2], in 32 bits whatever the weights are
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
        return table[index]


class Learned(nn.Module):
    """A free vector per position, up to `limit`. Gehring et al. 2017, section 3.1.

    deviation: of the first values (none: D^-1/2).
    """

    def __init__(self, dim: int, *, limit: Count = 512, deviation: Positive | None = None):
        super().__init__()
        self.limit: int | None = limit
        self.table = nn.Parameter(normal(limit, dim, deviation=deviation or dim**-0.5))

    def forward(self, index: Tensor) -> Tensor:
        if int(index.max()) >= len(self.table):
            raise ValueError(f"position {int(index.max())} is past the {len(self.table)} learned ones")
        return self.table[index]


def frequencies(dim: int, device: torch.device) -> Tensor:
    """[D/2], 10000^(-2i/D)."""
    return torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))


def rotate(x: Tensor, first: int | Tensor) -> Tensor:
    """Rotary positions: each pair of columns of x [N,H,T,D] is turned by p times its frequency, p = first, first+1, ...

    first: one number, or [N,1,1], one for each row.
    q'_p · k'_s then depends on p - s alone. Su et al. 2021 (pairs: column i with i + D/2).
    """
    positions = first + torch.arange(x.shape[-2], device=x.device)
    angles = positions[..., None] * frequencies(x.shape[-1], x.device)  # [T,D/2] or [N,1,T,D/2], in 32 bits
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)
