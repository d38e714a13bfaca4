"""The gated recurrent unit. Cho et al. 2014."""

from typing import Literal

import torch
from torch import Tensor

from weft.core import watch
from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.core.types import Count
from weft.nn.cells.fused import linear, run_fused
from weft.nn.cells.gated import Gated
from weft.nn.cells.products import Keep, Recurrence
from weft.nn.cells.role import States


class GRU(Gated):
    """r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), h' = z h + (1 - z) n, with

    reset before the product: n = tanh(W x + U (r h)) (Cho et al. 2014, equations 5-8; Bahdanau et al. 2015, A.1.1,
    where z is written for 1 - z); reset after it: n = tanh(W x + r (U h + b)) (torch's and cuDNN's kernel).
    """

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        dim: Count = 256,
        reset: Literal["before", "after"] = "before",
        normalise: bool = False,
        keep: Keep = "free",
    ):
        super().__init__(input_dim, extra_dim, dim, rows=3, normalise=normalise)  # r, z, n
        self.after = reset == "after"
        self.gates = Recurrence(dim, 2 * dim, normalise=normalise, keep=keep)
        self.fused = self.after and not normalise
        self.candidate = Recurrence(dim, dim, normalise=normalise, keep=keep, bias=self.after)

    def forward(self, projected: Tensor, carry: Tree, extra: Tensor | None = None) -> tuple[Tensor, Tree]:
        (h,) = self.states(carry)
        total = self.inputs(projected, extra)
        gates, candidate = total[..., : 2 * self.dim], total[..., 2 * self.dim :]
        reset, update = torch.sigmoid(gates + self.gates(h)).chunk(2, -1)
        watch.note("reset", reset)
        watch.note("update", update)
        inner = reset * self.candidate(h) if self.after else self.candidate(reset * h)
        h = torch.lerp(torch.tanh(candidate + inner), h, update)
        watch.note("h", h)
        return h, (h,)

    def run(self, x: Padded, states: States) -> tuple[Padded, States]:
        if not self.fused or watch.watched():
            return super().run(x, states)
        products = linear(self.gates.matrix), linear(self.candidate.matrix)
        recurrence = torch.cat([weight for weight, _ in products]), torch.cat([bias for _, bias in products])
        return run_fused(torch.gru, x, states, linear(self.inputs.input), recurrence)
