"""The matrix products that gates are made of: from the input, from an extra input, and from the last output."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core import watch
from weft.core.wide import wide
from weft.nn.initial import orthogonal_blocks

Keep = Literal["free", "orthogonal"]


class Inputs(nn.Module):
    """W x + b, and C c for an extra input that comes with each step; `rows` numbers each.

    normalise: each of the products is normalised over its rows (Ba, Kiros & Hinton 2016, equation 20), then b is added.
    """

    def __init__(self, input_dim: int, extra_dim: int, rows: int, *, normalise: bool = False):
        super().__init__()
        self.input = nn.Linear(input_dim, rows, bias=not normalise)
        self.context = nn.Linear(extra_dim, rows, bias=False) if extra_dim else None
        self.input_norm = norm(rows, wanted=normalise)
        self.context_norm = norm(rows, wanted=normalise and extra_dim > 0)
        self.normalise = normalise

    @property
    def bias(self) -> Tensor:
        """b, which stands in the norm if there is one."""
        return (self.input_norm if self.normalise else self.input).get_parameter("bias")

    def project(self, x: Tensor) -> Tensor:
        return self.input_norm(self.input(x))

    def forward(self, projected: Tensor, extra: Tensor | None) -> Tensor:
        if self.context is None or extra is None:
            return projected
        return projected + self.context_norm(self.context(extra))


class Recurrence(nn.Module):
    """U h, of as much of h as a mask lets through. It starts with an orthogonal block for each gate (Saxe et al. 2014).

    keep: orthogonal holds each block there in training, so that no power of it makes a vector longer or shorter.
    """

    def __init__(self, dim: int, rows: int, *, normalise: bool = False, keep: Keep = "free", bias: bool = False):
        super().__init__()
        self.matrix = free(dim, rows, bias=bias) if keep == "free" else Orthogonal(dim, rows, bias=bias)
        self.norm = norm(rows, wanted=normalise)

    def forward(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        if watch.watched():  # asked first, because an orthogonal matrix is computed whenever it is read
            watch.note("recurrence", self.matrix.weight)
        return self.norm(self.matrix(h if mask is None else h * mask))


def free(dim: int, rows: int, *, bias: bool) -> nn.Linear:
    matrix = nn.Linear(dim, rows, bias=bias)
    orthogonal_blocks(matrix.weight, dim)
    return matrix


class Orthogonal(nn.Module):
    """U x + b, where every square block of U stays orthogonal: exp(A - Aᵀ) Q, with Q fixed and A learned from zero.

    Lezcano-Casado & Martínez-Rubio 2019: the exponential of a skew-symmetric matrix is a rotation.
    """

    def __init__(self, dim: int, rows: int, *, bias: bool):
        super().__init__()
        first = torch.empty(rows, dim)
        orthogonal_blocks(first, dim)
        self.first: Tensor
        self.register_buffer("first", first)  # Q of each block
        self.learned = nn.Parameter(torch.zeros(rows, dim))  # A of each block
        self.bias = nn.Parameter(torch.zeros(rows)) if bias else None

    @property
    def weight(self) -> Tensor:
        blocks = wide(self.learned).view(-1, self.learned.shape[1], self.learned.shape[1])
        rotation = torch.linalg.matrix_exp(blocks - blocks.transpose(1, 2))
        return (rotation @ wide(self.first).view_as(blocks)).view_as(self.first).to(self.learned.dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


def norm(rows: int, *, wanted: bool) -> nn.Module:
    return nn.LayerNorm(rows) if wanted else nn.Identity()
