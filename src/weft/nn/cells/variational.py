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

Carry = tuple[Tensor, Tensor, Tree]  # m_x, m_h, the cell's


class Variational(nn.Module):
    """h' = cell(m_x x, h), with m_h h in all products: one mask for all steps of a sequence.

    Gal & Ghahramani 2016.

    The masks are drawn before the first step and carried along. So that the input's is known, `project` leaves its
    product to the step. Around a stack of cells they all have one m_h.
    """

    def __init__(self, input_dim: int, extra_dim: int, *, cell: Make[Cell] = LSTM, dropout: Rate = 0.2):
        super().__init__()
        self.cell = cell(input_dim, extra_dim)
        if {*self.cell.state_dims} != {self.cell.dim}:
            raise ValueError("variational: its cells need one width; or write it inside, as the cell of stacked")
        self.input_dim = input_dim
        self.dim, self.state_dims, self.top = self.cell.dim, self.cell.state_dims, self.cell.top
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> Tensor:
        return x

    def start(self, states: States) -> Tree:
        h = states[0]
        of_input, of_output = (self.dropout(h.new_ones(len(h), dim)) for dim in (self.input_dim, self.dim))
        return of_input, of_output, self.cell.start(states)

    def states(self, carry: Tree) -> States:
        _, _, inner = cast(Carry, carry)
        return self.cell.states(inner)

    def forward(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        of_input, of_output, inner = cast(Carry, carry)
        kept = of_output if mask is None else of_output * mask
        output, after = self.cell(self.cell.project(projected * of_input), inner, extra, kept)
        return output, (of_input, of_output, after)

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        return unroll(self, x, carry)
