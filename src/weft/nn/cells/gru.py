"""The gated recurrent unit. Cho et al. 2014."""

import torch
from torch import Tensor

from weft.core import tracing
from weft.core.setting_types import PositiveInt
from weft.core.state import TensorTree
from weft.nn.cells.cell import StandardCell
from weft.nn.cells.gate_projections import InputProjection, RecurrentProjection


class GRUCell(StandardCell):
    """r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), h' = z h + (1 - z) n.

    n = tanh(W x + U (r h)) (Cho et al. 2014, equations 5-8; Bahdanau et al. 2015, A.1.1, with z for 1 - z).
    reset_after: n = tanh(W x + r (U h + b)), as in the kernels of torch and cuDNN.
    """

    kernel = torch.gru

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        dim: PositiveInt = 256,
        reset_after: bool = False,
        layer_norm: bool = False,
        orthogonal: bool = False,
    ):
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim,), 0
        self.reset_after = reset_after
        self.inputs = InputProjection(input_dim, extra_dim, 3 * dim, layer_norm=layer_norm)  # rows: r, z, n
        self.gates = RecurrentProjection(dim, 2 * dim, layer_norm=layer_norm, orthogonal=orthogonal)
        self.candidate = RecurrentProjection(dim, dim, layer_norm=layer_norm, orthogonal=orthogonal, bias=reset_after)
        self.is_fused = reset_after and not layer_norm

    def forward(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        (h,) = self.states(carry)
        total = self.inputs(projected, extra)
        gates, candidate = total[..., : 2 * self.dim], total[..., 2 * self.dim :]
        reset, update = torch.sigmoid(gates + self.gates(h, mask)).chunk(2, -1)
        inner = reset * self.candidate(h, mask) if self.reset_after else self.candidate(reset * h, mask)
        h = torch.lerp(torch.tanh(candidate + inner), h, update)
        for name, tensor in (("reset", reset), ("update", update), ("h", h)):
            tracing.record_tensor(name, tensor)
        return h, (h,)

    def recurrent_projections(self) -> list[RecurrentProjection]:
        return [self.gates, self.candidate]
