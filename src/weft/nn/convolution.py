"""Convolutions over a sequence: sliding windows, weight-normalized linear maps (Salimans & Kingma 2016) and gated
convolutions (Dauphin et al. 2017; Gehring et al. 2017).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.setting_types import PositiveInt
from weft.nn.layers import normal_init


class WeightNormLinear(nn.Module):
    """y = W x + b, each row of W being g v / |v| (Salimans & Kingma 2016, equation 2).

    Initially W ~ N(0, gain / I) for an input of width I, and b = 0.
    """

    def __init__(self, input_dim: int, dim: int, *, gain: float = 1.0):
        super().__init__()
        self.direction = nn.Parameter(normal_init(dim, input_dim, std=(gain / input_dim) ** 0.5))  # v
        self.length = nn.Parameter(self.direction.detach().norm(dim=1))  # g
        self.bias = nn.Parameter(torch.zeros(dim))

    @property
    def weight(self) -> Tensor:
        return self.direction * (self.length / self.direction.norm(dim=1))[:, None]

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


def sliding_windows(x: Tensor, size: int) -> Tensor:
    """x [N,T+size-1,D] -> [N,T,size D], the vectors of a window in one row."""
    steps = x.shape[1] - size + 1
    return x if size == 1 else torch.cat([x[:, first : first + steps] for first in range(size)], -1)


def pad_centered(x: Padded, size: int) -> Tensor:
    """x [B,S,D] -> [B,S+size-1,D]: add zeros so that a window of this size is centered on each position.

    An even window extends further to the right. The padding becomes zeros too, as if the sentence ended.
    """
    real = x.data.masked_fill(~x.mask[:, :, None], 0.0)
    return F.pad(real, (0, 0, (size - 1) // 2, size // 2))


class GatedConvolution(nn.Module):
    """v([A; B]) = A sigmoid(B), [A; B] = W [x_i; ...; x_{i+k-1}] + b. Dauphin et al. 2017; Gehring et al. 2017, 3.2.

    Initially W ~ N(0, 4 p / n) for n inputs of which dropout keeps the share p, which preserves the variance
    (Gehring et al. 2017, section 3.5).
    """

    def __init__(self, input_dim: int, dim: int, *, kernel_size: PositiveInt = 3, dropout: float = 0.0):
        super().__init__()
        self.kernel_size = kernel_size
        self.linear = WeightNormLinear(kernel_size * input_dim, 2 * dim, gain=4 * (1 - dropout))

    def forward(self, x: Tensor) -> Tensor:
        """x [N,T+k-1,I] -> [N,T,D]."""
        return F.glu(self.linear(sliding_windows(x, self.kernel_size)), -1)


@dataclass(frozen=True, kw_only=True)
class ConvLayerGroup:
    """Several layers of equal width and kernel size."""

    layers: PositiveInt = 1
    dim: PositiveInt = 256
    kernel_size: PositiveInt = 3


class ConvLayerSizes(NamedTuple):
    input_dim: int
    dim: int
    kernel_size: int


def conv_layer_sizes(groups: Iterable[ConvLayerGroup]) -> Iterator[ConvLayerSizes]:
    """Yield the sizes of all layers, bottom up; the lowest reads vectors of its own width."""
    input_dim: int | None = None
    for group in groups:
        for _ in range(group.layers):
            yield ConvLayerSizes(input_dim or group.dim, group.dim, group.kernel_size)
            input_dim = group.dim


def scale_residual_sum(total: Tensor) -> Tensor:
    """Scale a sum of two tensors to the variance of one of them. Gehring et al. 2017, section 3.4."""
    return total * 0.5**0.5


def skip_projection(sizes: ConvLayerSizes) -> nn.Module:
    """Return the map of a residual connection: a linear one where the width changes."""
    return nn.Identity() if sizes.input_dim == sizes.dim else WeightNormLinear(sizes.input_dim, sizes.dim)
