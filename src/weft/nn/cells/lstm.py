"""Long short-term memory. Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber & Cummins 2000."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.setting_types import PositiveInt
from weft.core.state import TensorTree
from weft.nn.cells.cell import StandardCell
from weft.nn.cells.gate_projections import InputProjection, RecurrentProjection

PeepholeKind = Literal["none", "diagonal", "full"]


class LSTMCell(StandardCell):
    """i, f, o = sigmoid(W x + U h + p(c) + b), g = tanh(W x + U h + b); c' = f c + i g; h' = o tanh(c').

    peepholes: diagonal, p(c) = w c, where the output gate sees the new c' (Gers, Schraudolph & Schmidhuber 2002);
    full, p(c) = P c, where all three gates see the old c (Graves 2013 for i and f, with diagonal P).
    coupled: i = 1 - f (Greff et al. 2017, CIFG). forget_bias: initial bias of f (Jozefowicz et al. 2015: 1).
    layer_norm: of W x, U h and, for h', c' (Ba, Kiros & Hinton 2016, equations 20-22).
    """

    kernel = torch.lstm

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        dim: PositiveInt = 256,
        peepholes: PeepholeKind = "none",
        coupled: bool = False,
        forget_bias: float = 1.0,
        layer_norm: bool = False,
        orthogonal: bool = False,
    ):
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim, dim), 0
        self.coupled, self.output_sees_new = coupled, peepholes == "diagonal"
        self.rows = 3 if coupled else 4  # i (unless coupled), f, g, o
        self.inputs = InputProjection(input_dim, extra_dim, self.rows * dim, layer_norm=layer_norm)
        self.recurrence = RecurrentProjection(dim, self.rows * dim, layer_norm=layer_norm, orthogonal=orthogonal)
        nn.init.constant_(self.inputs.bias.data.view(self.rows, dim)[-3], forget_bias)
        self.cell_norm = nn.LayerNorm(dim) if layer_norm else nn.Identity()
        self.input_peephole, self.forget_peephole, self.output_peephole = (Peephole(dim, peepholes) for _ in range(3))
        self.is_fused = not layer_norm and not coupled and peepholes == "none"

    def forward(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        h, c = self.states(carry)
        *i, f, g, o = (self.inputs(projected, extra) + self.recurrence(h, mask)).chunk(self.rows, -1)
        forget = torch.sigmoid(self.forget_peephole(f, c))
        update = 1 - forget if self.coupled else torch.sigmoid(self.input_peephole(i[0], c))
        new_c = forget * c + update * torch.tanh(g)
        output = torch.sigmoid(self.output_peephole(o, new_c if self.output_sees_new else c))
        h = output * torch.tanh(self.cell_norm(new_c))
        for name, tensor in (("input", update), ("forget", forget), ("output", output), ("h", h), ("c", new_c)):
            tracing.record_tensor(name, tensor)
        return h, (h, new_c)


class Peephole(nn.Module):
    """gate + w c (diagonal), gate + P c (full), or the gate alone (none)."""

    def __init__(self, dim: int, kind: PeepholeKind):
        super().__init__()
        self.kind = kind
        if kind == "diagonal":
            self.weight = nn.Parameter(torch.zeros(dim))
        elif kind == "full":
            self.matrix = nn.Linear(dim, dim, bias=False)

    def forward(self, gate: Tensor, c: Tensor) -> Tensor:
        match self.kind:
            case "none":
                return gate
            case "diagonal":
                return torch.addcmul(gate, self.weight, c)
            case "full":
                return gate + self.matrix(c)
