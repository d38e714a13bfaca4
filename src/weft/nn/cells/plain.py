"""The plain recurrent cell. Elman 1990."""

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


class Plain(nn.Module):
    """h' = tanh(W x + U h + b)."""

    start, states = staticmethod(as_carry), staticmethod(as_states)

    def __init__(
        self, input_dim: int, extra_dim: int, *, dim: Count = 256, normalise: bool = False, keep: Keep = "free"
    ):
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim,), 0
        self.inputs = Inputs(input_dim, extra_dim, dim, normalise=normalise)
        self.recurrence = Recurrence(dim, dim, normalise=normalise, keep=keep)
        self.fused = not normalise

    def project(self, x: Tensor) -> Tensor:
        return self.inputs.project(x)

    def forward(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        (h,) = as_states(carry)
        h = torch.tanh(self.inputs(projected, extra) + self.recurrence(h, mask))
        watch.note("h", h)
        return h, (h,)

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        if not self.fused or watch.watched():
            return unroll(self, x, carry)
        return run_fused(torch.rnn_tanh, x, carry, linear(self.inputs.input), linear(self.recurrence.matrix))
