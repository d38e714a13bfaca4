"""Long short-term memory. Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber & Cummins 2000."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.core.types import Count
from weft.nn.cells.fused import linear, run_fused
from weft.nn.cells.products import Inputs, Keep, Recurrence, norm
from weft.nn.cells.role import as_carry, as_states
from weft.nn.cells.unroll import unroll


class LSTM(nn.Module):
    """i, f, o = sigmoid(W x + U h + p(c) + b), g = tanh(W x + U h + b); c' = f c + i g; h' = o tanh(c').

    peepholes: diagonal, p(c) = w c, where the output gate sees the new c' (Gers, Schraudolph & Schmidhuber 2002);
    full, p(c) = P c, where all three gates see the old c (Graves 2013 has it so for i and f, with diagonal P).
    coupled: i = 1 - f, one gate decides what is kept and what is new (Greff et al. 2017, CIFG). forget_bias: the first
    value of f's bias (Jozefowicz et al. 2015: 1). normalise: W x, U h and, for h', c' are normalised (Ba, Kiros &
    Hinton 2016, equations 20-22).
    """

    start, states = staticmethod(as_carry), staticmethod(as_states)

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        dim: Count = 256,
        peepholes: Literal["none", "diagonal", "full"] = "none",
        coupled: bool = False,
        forget_bias: float = 1.0,
        normalise: bool = False,
        keep: Keep = "free",
    ):
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim, dim), 0
        self.coupled, self.sees_new = coupled, peepholes == "diagonal"
        self.rows = 3 if coupled else 4  # i (unless coupled), f, g, o
        self.inputs = Inputs(input_dim, extra_dim, self.rows * dim, normalise=normalise)
        self.recurrence = Recurrence(dim, self.rows * dim, normalise=normalise, keep=keep)
        nn.init.constant_(self.inputs.bias.data.view(self.rows, dim)[-3], forget_bias)
        self.cell_norm = norm(dim, wanted=normalise)
        self.input_peephole, self.forget_peephole, self.output_peephole = (PEEPHOLES[peepholes](dim) for _ in range(3))
        self.fused = not normalise and not coupled and peepholes == "none"

    def project(self, x: Tensor) -> Tensor:
        return self.inputs.project(x)

    def forward(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        h, c = as_states(carry)
        *new, kept, candidate, out = (self.inputs(projected, extra) + self.recurrence(h, mask)).chunk(self.rows, -1)
        kept = torch.sigmoid(self.forget_peephole(kept, c))
        let_in = 1 - kept if self.coupled else torch.sigmoid(self.input_peephole(new[0], c))
        later = kept * c + let_in * torch.tanh(candidate)
        out = torch.sigmoid(self.output_peephole(out, later if self.sees_new else c))
        h = out * torch.tanh(self.cell_norm(later))
        for name, tensor in (("input", let_in), ("forget", kept), ("output", out), ("h", h), ("c", later)):
            watch.note(name, tensor)
        return h, (h, later)

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        if not self.fused or watch.watched():
            return unroll(self, x, carry)
        return run_fused(torch.lstm, x, carry, linear(self.inputs.input), linear(self.recurrence.matrix))


class Nothing(nn.Module):
    """A gate that does not see the cell state."""

    def __init__(self, dim: int):  # noqa: ARG002 (as its neighbours)
        super().__init__()

    def forward(self, gate: Tensor, c: Tensor) -> Tensor:  # noqa: ARG002
        return gate


class Diagonal(nn.Module):
    """gate + w c."""

    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, gate: Tensor, c: Tensor) -> Tensor:
        return torch.addcmul(gate, self.weight, c)


class Full(nn.Module):
    """gate + P c."""

    def __init__(self, dim: int):
        super().__init__()
        self.matrix = nn.Linear(dim, dim, bias=False)

    def forward(self, gate: Tensor, c: Tensor) -> Tensor:
        return gate + self.matrix(c)


PEEPHOLES: dict[str, Callable[[int], nn.Module]] = {"none": Nothing, "diagonal": Diagonal, "full": Full}
