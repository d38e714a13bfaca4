"""Dropout in time."""

from typing import cast

from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.core.types import Make, Rate
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.role import Cell, States
from weft.nn.cells.unroll import unroll
from weft.nn.dropout import Dropout


class Variational(nn.Module):
    """h' = cell(m_x x, m_h h): one mask for all steps of a sequence. Gal & Ghahramani 2016, equation 7.

    m_h is carried along, drawn before the first step.
    """

    def __init__(self, input_dim: int, extra_dim: int, *, cell: Make[Cell] = LSTM, dropout: Rate = 0.2):
        super().__init__()
        self.cell = cell(input_dim, extra_dim)
        self.dim, self.state_dims, self.top = self.cell.dim, self.cell.state_dims, self.cell.top
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> Tensor:
        return self.cell.project(x * self.dropout(x.new_ones(x.shape[-2:])))

    def start(self, states: States) -> Tree:
        return self.dropout(states[0].new_ones(states[0].shape)), self.cell.start(states)

    def states(self, carry: Tree) -> States:
        _, inner = cast(tuple[Tensor, Tree], carry)
        return self.cell.states(inner)

    def forward(self, projected: Tensor, carry: Tree, extra: Tensor | None = None) -> tuple[Tensor, Tree]:
        mask, inner = cast(tuple[Tensor, Tree], carry)
        h, *others = self.cell.states(inner)
        output, after = self.cell(projected, self.cell.start((h * mask, *others)), extra)
        return output, (mask, after)

    def run(self, x: Padded, states: States) -> tuple[Padded, States]:
        return unroll(self, x, states)
