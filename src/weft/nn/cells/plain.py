"""The plain recurrent cell. Elman 1990."""

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


class Plain(Gated):
    """h' = tanh(W x + U h + b)."""

    def __init__(
        self, input_dim: int, extra_dim: int, *, dim: Count = 256, normalise: bool = False, keep: Keep = "free"
    ):
        super().__init__(input_dim, extra_dim, dim, rows=1, normalise=normalise)
        self.recurrence = Recurrence(dim, dim, normalise=normalise, keep=keep)
        self.fused = not normalise

    def forward(self, projected: Tensor, carry: Tree, extra: Tensor | None = None) -> tuple[Tensor, Tree]:
        (h,) = self.states(carry)
        h = torch.tanh(self.inputs(projected, extra) + self.recurrence(h))
        watch.note("h", h)
        return h, (h,)

    def run(self, x: Padded, states: States) -> tuple[Padded, States]:
        if not self.fused or watch.watched():
            return super().run(x, states)
        return run_fused(torch.rnn_tanh, x, states, linear(self.inputs.input), linear(self.recurrence.matrix))
