"""The simple recurrent cell. Elman 1990."""

import torch
from torch import Tensor

from weft.core import tracing
from weft.core.setting_types import PositiveInt
from weft.core.state import TensorTree
from weft.nn.cells.cell import StandardCell
from weft.nn.cells.gate_projections import InputProjection, RecurrentProjection


class ElmanCell(StandardCell):
    """h' = tanh(W x + U h + b)."""

    kernel = torch.rnn_tanh

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        dim: PositiveInt = 256,
        layer_norm: bool = False,
        orthogonal: bool = False,
    ):
        super().__init__()
        self.dim, self.state_dims, self.top = dim, (dim,), 0
        self.inputs = InputProjection(input_dim, extra_dim, dim, layer_norm=layer_norm)
        self.recurrence = RecurrentProjection(dim, dim, layer_norm=layer_norm, orthogonal=orthogonal)
        self.is_fused = not layer_norm

    def forward(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        (h,) = self.states(carry)
        h = torch.tanh(self.inputs(projected, extra) + self.recurrence(h, mask))
        tracing.record_tensor("h", h)
        return h, (h,)
