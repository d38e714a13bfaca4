"""Recurrent cells: one step of an equation."""

from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Count

Carry = tuple[Tensor, ...]  # each [B,D]; the first is what the cell gives out


class Cell(Protocol):
    """A cell's step is split where it can be: `project` is the part that depends on the input alone."""

    dim: int  # width of the output
    input_rows: int  # width of a projected input
    carry_dims: tuple[int, ...]

    def project(self, x: Tensor) -> Tensor:
        """W x + b for any number of steps at once: [..., I] -> [..., input_rows]."""
        ...

    def start(self, like: Tensor) -> Carry:
        """The carry before the first step, a row per row of `like`."""
        ...

    def __call__(self, projected: Tensor, carry: Carry) -> Carry:
        """projected [B,input_rows] -> the next carry."""
        ...


class GRU(nn.Module):
    """r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), h' = z h + (1 - z) n, with

    reset before the product: n = tanh(W x + U (r h)) (Cho et al. 2014, equations 5-8; Bahdanau et al. 2015, A.1.1,
    where z is written for 1 - z); reset after it: n = tanh(W x + r (U h + c)) (torch's and cuDNN's kernel).
    """

    def __init__(self, input_dim: int, *, dim: Count = 256, reset: Literal["before", "after"] = "before"):
        super().__init__()
        self.dim = dim
        self.input_rows = 3 * dim
        self.carry_dims: tuple[int, ...] = (dim,)
        self.after = reset == "after"
        self.input = nn.Linear(input_dim, 3 * dim)  # rows: r, z, n
        self.gates = nn.Linear(dim, 2 * dim, bias=False)
        self.candidate = nn.Linear(dim, dim, bias=self.after)
        for block in (*self.gates.weight.data.chunk(2), self.candidate.weight.data):
            nn.init.orthogonal_(block)

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def start(self, like: Tensor) -> Carry:
        return (like.new_zeros(len(like), self.dim),)

    def forward(self, projected: Tensor, carry: Carry) -> Carry:
        (h,) = carry
        gates, candidate = projected[..., : 2 * self.dim], projected[..., 2 * self.dim :]
        reset, keep = torch.sigmoid(gates + self.gates(h)).chunk(2, -1)
        inner = reset * self.candidate(h) if self.after else self.candidate(reset * h)
        return (torch.lerp(torch.tanh(candidate + inner), h, keep),)
