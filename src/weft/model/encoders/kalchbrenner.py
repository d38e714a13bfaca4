"""A sentence in one vector, by convolutions that each leave fewer columns. Kalchbrenner & Blunsom 2013."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.types import Count
from weft.model.source import require_vectors
from weft.nn.initial import normal
from weft.nn.memory import Memory, Sizes
from weft.nn.stack import stack


class KalchbrennerEncoder(nn.Module):
    """The convolutional sentence model (section 3); E^1 are the embeddings, a column each:

    E^i_t = tanh(sum_{j<i} K^i_j * E^{i-1}_{t+j} + b^i)      for i = 2, 3, ... while at least i columns are there
    s = tanh(sum_{j<n} L^n_j * E_j)                          of the n columns that are left

    Products are element by element: every dimension has a kernel of its own. Nothing is pooled and nothing is padded,
    so that a kernel of width i leaves i - 1 columns fewer. There are `layers` kernels; in a sentence that is too long
    for them the widest is used again, which the paper, whose kernels reach any length, does not need.

    Memory: one position, s; `final` is s as well, for bridges.
    """

    def __init__(self, input_dim: int, *, layers: Count = 10):
        super().__init__()
        require_vectors(input_dim)
        self.sizes = Sizes(input_dim, input_dim, (((input_dim,),),))
        self.kernels = stack(Narrow(input_dim, number + 2) for number in range(layers))
        self.tops = nn.Parameter(normal(layers, input_dim, layers, deviation=layers**-0.5))  # L^1, L^2 ...

    def forward(self, x: Padded) -> Memory:
        columns, left = x.data.transpose(1, 2), x.lengths()  # [B,D,S], how many of S are still columns of the sentence
        for kernel in self._needed(columns.shape[-1]):
            narrow = left >= kernel.width
            columns = torch.where(narrow[:, None, None], kernel(columns), columns)
            left = torch.where(narrow, left - kernel.width + 1, left)
        s = self._merged(columns, left)
        return Memory(s[:, None], s[:, None], x.mask[:, :1], (((s,),),))

    def _needed(self, columns: int) -> Iterator["Narrow"]:
        """The kernels that a sentence of so many columns goes through; a shorter one stops before."""
        number = 0
        while columns >= self.kernels[number].width:
            yield self.kernels[number]
            columns -= self.kernels[number].width - 1
            number = min(number + 1, len(self.kernels) - 1)

    def _merged(self, columns: Tensor, left: Tensor) -> Tensor:
        """The first `left` columns of each row, which are as many as there are kernels at most, to one: [B,D]."""
        columns = columns[..., : self.tops.shape[-1]]
        past = torch.arange(columns.shape[-1], device=left.device) >= left[:, None]
        weights = self.tops[left - 1, :, : columns.shape[-1]].masked_fill(past[:, None], 0.0)
        return torch.tanh((columns * weights).sum(-1))


class Narrow(nn.Module):
    """tanh of a convolution in each dimension; its last `width` - 1 columns, past the end, are zeros."""

    def __init__(self, dim: int, width: int):
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(normal(dim, 1, width, deviation=width**-0.5))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, columns: Tensor) -> Tensor:
        """[B,D,S] -> [B,D,S]."""
        found = torch.tanh(F.conv1d(columns, self.weight, self.bias, groups=len(self.bias)))
        return F.pad(found, (0, self.width - 1))
