"""The matrix products that gates are made of: from the input, from an extra input, and from the last output."""

from typing import Literal

from torch import Tensor, nn
from torch.nn.utils import parametrizations

from weft.nn.initial import orthogonal_blocks

Keep = Literal["free", "orthogonal"]


class Inputs(nn.Module):
    """W x + b, and C c for an extra input that comes with each step; `rows` numbers each.

    normalise: each of the two is normalised over its rows (Ba, Kiros & Hinton 2016, equation 20).
    """

    def __init__(self, input_dim: int, extra_dim: int, rows: int, *, normalise: bool):
        super().__init__()
        self.input = nn.Linear(input_dim, rows)
        self.context = nn.Linear(extra_dim, rows, bias=False) if extra_dim else None
        self.input_norm = norm(rows, normalise)
        self.context_norm = norm(rows, normalise and extra_dim > 0)

    def project(self, x: Tensor) -> Tensor:
        return self.input_norm(self.input(x))

    def forward(self, projected: Tensor, extra: Tensor | None) -> Tensor:
        if self.context is None or extra is None:
            return projected
        return projected + self.context_norm(self.context(extra))


class Recurrence(nn.Module):
    """U h. It starts with an orthogonal block for each gate (Saxe et al. 2014).

    keep: orthogonal holds it at UᵀU = 1 in training, so that no product with it makes a vector longer or, for a plain
    cell, shorter.
    """

    def __init__(self, dim: int, rows: int, *, normalise: bool, keep: Keep, bias: bool = False):
        super().__init__()
        self.matrix = nn.Linear(dim, rows, bias=bias)
        orthogonal_blocks(self.matrix.weight, dim)
        if keep == "orthogonal":
            parametrizations.orthogonal(self.matrix)
        self.norm = norm(rows, normalise)

    def forward(self, h: Tensor) -> Tensor:
        return self.norm(self.matrix(h))


def norm(rows: int, wanted: bool) -> nn.Module:
    return nn.LayerNorm(rows) if wanted else nn.Identity()
