"""Recurrent encoders: forward, backward or bidirectional layers of any cell."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.models.interfaces import require_source_embedding
from weft.nn.cells.cell import CellStates, RecurrentCell, zero_states
from weft.nn.cells.gru import GRUCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list

Directions = Literal["forward", "backward", "both", "both-first"]
DirectionMerge = Literal["concat", "sum", "mean", "project"]


class RecurrentEncoder(nn.Module):
    """h_t = cell(x_t, h_{t-1}) in each layer: `layers` times `cell`, then `upper_cells`.

    directions: `backward` reads from the end, which is the reversed source of Sutskever et al. 2014; `both` runs a cell
    in each direction (Schuster & Paliwal 1997); `both-first` does so in the lowest layer only (GNMT, Wu et al. 2016).
    merge: how two directions become one: [f; b], f + b, (f + b) / 2, or W [f; b].
    residual: x_{l+1} = x_l + layer_l(x_l) where the widths are equal, except in the lowest layer.
    Dropout is applied to the output of every layer, before the residual sum.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        cell: Factory[RecurrentCell] = GRUCell,
        layers: PositiveInt = 1,
        upper_cells: tuple[Factory[RecurrentCell], ...] = (),
        directions: Directions = "both",
        merge: DirectionMerge = "concat",
        residual: bool = False,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source_embedding(input_dim)
        parts: list[RecurrentEncoderLayer] = []
        for make in (cell,) * layers + upper_cells:
            width = parts[-1].dim if parts else input_dim
            is_forward = directions == "both-first" and parts
            parts.append(RecurrentEncoderLayer(width, make, "forward" if is_forward else directions, merge))
        self.layers = module_list(parts)
        self.residual = residual
        self.dropout = Dropout(dropout)
        dim, final = parts[-1].dim, tuple(layer.state_dims for layer in parts)
        self.sizes = MemorySizes(dim, dim, final, tuple(cell for layer in parts for cell in layer.cells))

    def forward(self, x: Padded) -> Memory:
        final: list[tuple[CellStates, ...]] = []
        for number, layer in enumerate(self.layers):
            with tracing.trace_scope(f"encoder.{number}"):
                y, states = layer(x)
            has_residual = self.residual and number > 0 and y.shape == x.data.shape
            x = x.with_data(x.data + self.dropout(y) if has_residual else self.dropout(y))
            final.append(states)
        return Memory(x.data, x.data, x.mask, tuple(final))


class RecurrentEncoderLayer(nn.Module):
    """A cell in each direction; the lowest layer of `both-first` has both."""

    def __init__(self, input_dim: int, cell: Factory[RecurrentCell], directions: Directions, merge: DirectionMerge):
        super().__init__()
        self.backward_flags = {"forward": (False,), "backward": (True,)}.get(directions, (False, True))
        self.cells = module_list(cell(input_dim, 0) for _ in self.backward_flags)
        self.state_dims = tuple(part.state_dims for part in self.cells)
        is_bidirectional = len(self.cells) > 1
        width = self.cells[0].dim
        self.dim = 2 * width if is_bidirectional and merge == "concat" else width
        self.merge = merge if is_bidirectional else None
        self.project = nn.Linear(2 * width, width) if self.merge == "project" else nn.Identity()

    def forward(self, x: Padded) -> tuple[Tensor, tuple[CellStates, ...]]:
        outputs, states = [], []
        for cell, backward in zip(self.cells, self.backward_flags, strict=True):
            # A backward cell reads the reversed sequence, so padding is still at the end.
            with tracing.trace_scope("backward" if backward else "forward"):
                output, carry = cell.run(x.reverse() if backward else x, cell.start(zero_states(cell, x.data)))
            outputs.append(output.reverse().data if backward else output.data)
            states.append(cell.states(carry))
        return self._merge(*outputs), tuple(states)

    def _merge(self, *outputs: Tensor) -> Tensor:
        match self.merge:
            case None:
                return outputs[0]
            case "concat" | "project":
                return self.project(torch.cat(outputs, -1))
            case "sum":
                return outputs[0] + outputs[1]
            case "mean":
                return (outputs[0] + outputs[1]) / 2
