"""Convolutions over a sequence: its windows side by side, and one product for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.types import Count
from weft.nn.weight_norm import NormedLinear


def windows(x: Tensor, width: int) -> Tensor:
    """x [N,T+width-1,D] -> [N,T,width D], `width` neighbours in one row."""
    steps = x.shape[1] - width + 1
    return x if width == 1 else torch.cat([x[:, first : first + steps] for first in range(width)], -1)


def centred(x: Padded, width: int) -> Tensor:
    """x [B,S,D] -> [B,S+width-1,D]: zeros before the first position and after the last, so that a window of this width
    stands around each (an even one reaches further to the right); the padding is zeros too, as if the sentence ended.
    """
    real = x.data.masked_fill(~x.mask[:, :, None], 0.0)
    return F.pad(real, (0, 0, (width - 1) // 2, width // 2))


class GatedConvolution(nn.Module):
    """v([A; B]) = A sigmoid(B), [A; B] = W [x_i; ...; x_{i+k-1}] + b. Dauphin et al. 2017; Gehring et al. 2017, 3.2.

    It starts with W ~ N(0, 4 p / n) for n inputs of which dropout keeps the share p, so that the variance of what goes
    in comes out (Gehring et al. 2017, section 3.5).
    """

    def __init__(self, input_dim: int, dim: int, *, kernel: Count = 3, dropped: float = 0.0):
        super().__init__()
        self.kernel = kernel
        self.linear = NormedLinear(kernel * input_dim, 2 * dim, gain=4 * (1 - dropped))

    def forward(self, x: Tensor) -> Tensor:
        """x [N,T+k-1,I] -> [N,T,D]."""
        return F.glu(self.linear(windows(x, self.kernel)), -1)


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Some layers of one width, each reading `kernel` neighbours."""

    layers: Count = 1
    dim: Count = 256
    kernel: Count = 3


class Shape(NamedTuple):
    """The sizes of one layer."""

    input_dim: int
    dim: int
    kernel: int


def shapes(blocks: Iterable[Blocks]) -> Iterator[Shape]:
    """The layers of all blocks, bottom up; the lowest reads vectors of its own width."""
    below: int | None = None
    for block in blocks:
        for _ in range(block.layers):
            yield Shape(below or block.dim, block.dim, block.kernel)
            below = block.dim


def balanced(total: Tensor) -> Tensor:
    """A sum of two, scaled so that it has the variance of one of them. Gehring et al. 2017, section 3.4."""
    return total * 0.5**0.5


def skip(shape: Shape) -> nn.Module:
    """What a residual connection goes through: a linear map where the width changes."""
    return nn.Identity() if shape.input_dim == shape.dim else NormedLinear(shape.input_dim, shape.dim)
