"""The gated recurrent unit. Cho et al. 2014."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.core.types import Count
from weft.nn.cells.fused import linear, run_fused
from weft.nn.cells.products import Inputs, Keep, Recurrence
from weft.nn.cells.role import as_carry, as_states
from weft.nn.cells.unroll import unroll


class GRU(nn.Module):
    """r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), h' = z h + (1 - z) n, with

    reset before the product: n = tanh(W x + U (r h)) (Cho et al. 2014, equations 5-8; Bahdanau et al. 2015, A.1.1,
    where z is written for 1 - z); reset after it: n = tanh(W x + r (U h + b)) (torch's and cuDNN's kernel).
    """

    start, states = staticmethod(as_carry), staticmethod(as_states)

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
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim,), 0
        self.after = reset == "after"
        self.inputs = Inputs(input_dim, extra_dim, 3 * dim, normalise=normalise)  # rows: r, z, n
        self.gates = Recurrence(dim, 2 * dim, normalise=normalise, keep=keep)
        self.fused = self.after and not normalise
        self.candidate = Recurrence(dim, dim, normalise=normalise, keep=keep, bias=self.after)

    def project(self, x: Tensor) -> Tensor:
        return self.inputs.project(x)

    def forward(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        (h,) = as_states(carry)
        total = self.inputs(projected, extra)
        gates, candidate = total[..., : 2 * self.dim], total[..., 2 * self.dim :]
        reset, update = torch.sigmoid(gates + self.gates(h, mask)).chunk(2, -1)
        watch.note("reset", reset)
        watch.note("update", update)
        inner = reset * self.candidate(h, mask) if self.after else self.candidate(reset * h, mask)
        h = torch.lerp(torch.tanh(candidate + inner), h, update)
        watch.note("h", h)
        return h, (h,)

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        if not self.fused or watch.watched():
            return unroll(self, x, carry)
        products = linear(self.gates.matrix), linear(self.candidate.matrix)
        recurrence = torch.cat([weight for weight, _ in products]), torch.cat([bias for _, bias in products])
        return run_fused(torch.gru, x, carry, linear(self.inputs.input), recurrence)
