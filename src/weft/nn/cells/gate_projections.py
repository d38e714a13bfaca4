"""The linear maps inside gates: from the input, from an extra input and from the previous output, with optional
layer normalization and orthogonality constraint.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core import tracing
from weft.core.padded import upcast
from weft.nn.layers import orthogonal_init_blocks


class InputProjection(nn.Module):
    """W x + b, plus C c for an extra input c of each step; `rows` outputs.

    layer_norm: W x and C c are normalized separately (Ba, Kiros & Hinton 2016, equation 20), then b is added.
    """

    def __init__(self, input_dim: int, extra_dim: int, rows: int, *, layer_norm: bool = False):
        super().__init__()
        self.input = nn.Linear(input_dim, rows, bias=not layer_norm)
        self.context = nn.Linear(extra_dim, rows, bias=False) if extra_dim else None
        self.input_norm = nn.LayerNorm(rows) if layer_norm else nn.Identity()
        self.context_norm = nn.LayerNorm(rows) if layer_norm and extra_dim else nn.Identity()
        self.layer_norm = layer_norm

    @property
    def bias(self) -> Tensor:
        """b, which is part of the norm if there is one."""
        return (self.input_norm if self.layer_norm else self.input).get_parameter("bias")

    def project(self, x: Tensor) -> Tensor:
        return self.input_norm(self.input(x))

    def forward(self, projected: Tensor, extra: Tensor | None) -> Tensor:
        if self.context is None or extra is None:
            return projected
        return projected + self.context_norm(self.context(extra))


class RecurrentProjection(nn.Module):
    """U h, with h multiplied by a mask if there is one. U starts with an orthogonal block per gate (Saxe et al. 2014).

    orthogonal: keep each block orthogonal in training, so that no power of it makes a vector longer or shorter.
    """

    def __init__(self, dim: int, rows: int, *, layer_norm: bool = False, orthogonal: bool = False, bias: bool = False):
        super().__init__()
        self.matrix: nn.Linear | OrthogonalLinear
        if orthogonal:
            self.matrix = OrthogonalLinear(dim, rows, bias=bias)
        else:
            self.matrix = nn.Linear(dim, rows, bias=bias)
            orthogonal_init_blocks(self.matrix.weight, dim)
        self.norm = nn.LayerNorm(rows) if layer_norm else nn.Identity()

    def forward(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        if tracing.is_tracing():  # checked first, because an orthogonal matrix is computed at each access
            tracing.record_tensor("recurrence", self.matrix.weight)
        return self.norm(self.matrix(h if mask is None else h * mask))


class OrthogonalLinear(nn.Module):
    """U x + b, where every square block of U stays orthogonal: exp(A - Aᵀ) Q, with Q fixed and A learned from zero.

    Lezcano-Casado & Martínez-Rubio 2019: the exponential of a skew-symmetric matrix is a rotation.
    """

    def __init__(self, dim: int, rows: int, *, bias: bool):
        super().__init__()
        first = torch.empty(rows, dim)
        orthogonal_init_blocks(first, dim)
        self.first: Tensor
        self.register_buffer("first", first)  # Q of each block
        self.learned = nn.Parameter(torch.zeros(rows, dim))  # A of each block
        self.bias = nn.Parameter(torch.zeros(rows)) if bias else None

    @property
    def weight(self) -> Tensor:
        blocks = upcast(self.learned).view(-1, self.learned.shape[1], self.learned.shape[1])
        rotation = torch.linalg.matrix_exp(blocks - blocks.transpose(1, 2))
        return (rotation @ upcast(self.first).view_as(blocks)).view_as(self.first).to(self.learned.dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)
