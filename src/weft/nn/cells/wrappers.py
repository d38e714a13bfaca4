"""Cells built from other cells: a stack of layers, and variational dropout (Gal & Ghahramani 2016)."""

from itertools import accumulate, pairwise
from typing import Literal, cast

from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import TensorTree
from weft.nn.cells.cell import CellStates, RecurrentCell, run_stepwise
from weft.nn.cells.lstm import LSTMCell
from weft.nn.dropout import Dropout
from weft.nn.layers import module_list

VariationalCarry = tuple[Tensor, Tensor, TensorTree]  # m_x, m_h, the inner cell's carry


class StackedCell(nn.Module):
    """The output of each cell is the input of the next: `layers` times `cell`, then `upper_cells`.

    residual: x_{l+1} = x_l + cell_l(x_l) where the widths are equal, except in the lowest (Wu et al. 2016, eq. 6).
    extra_input: whether the extra input (a context) enters the lowest cell only, or all of them (GNMT).
    dropout: between cells (Zaremba et al. 2014), not in time.
    """

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        cell: Factory[RecurrentCell] = LSTMCell,
        layers: PositiveInt = 2,
        upper_cells: tuple[Factory[RecurrentCell], ...] = (),
        residual: bool = False,
        extra_input: Literal["lowest", "all"] = "lowest",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        cells: list[RecurrentCell] = []
        for make in (cell,) * layers + upper_cells:
            width = cells[-1].dim if cells else input_dim
            cells.append(make(width, extra_dim if extra_input == "all" or not cells else 0))
        self.cells = module_list(cells)
        self.dim = cells[-1].dim
        self.top = sum(len(lower.state_dims) for lower in cells[:-1]) + cells[-1].top
        self.state_dims = tuple(dim for part in cells for dim in part.state_dims)
        self.residual = residual
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> Tensor:
        return self.cells[0].project(x)

    def start(self, states: CellStates) -> TensorTree:
        bounds = pairwise(accumulate((len(cell.state_dims) for cell in self.cells), initial=0))
        return tuple(cell.start(states[first:end]) for cell, (first, end) in zip(self.cells, bounds, strict=True))

    def states(self, carry: TensorTree) -> CellStates:
        return tuple(state for cell, part in zip(self.cells, carry, strict=True) for state in cell.states(part))

    def forward(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        x, after = projected, []
        for number, (cell, before) in enumerate(zip(self.cells, cast(tuple[TensorTree, ...], carry), strict=True)):
            with tracing.trace_scope(str(number)):
                y, part = cell(cell.project(self.dropout(x)) if number else projected, before, extra, mask)
            x = self._add(x, y) if number else y
            after.append(part)
        return x, tuple(after)

    def run(self, x: Padded, carry: TensorTree) -> tuple[Padded, TensorTree]:
        """Run cell by cell, so that each may use its kernel."""
        after = []
        for number, (cell, before) in enumerate(zip(self.cells, cast(tuple[TensorTree, ...], carry), strict=True)):
            with tracing.trace_scope(str(number)):
                y, part = cell.run(x.with_data(self.dropout(x.data)) if number else x, before)
            x = y.with_data(self._add(x.data, y.data)) if number else y
            after.append(part)
        return x, tuple(after)

    def _add(self, below: Tensor, above: Tensor) -> Tensor:
        return below + above if self.residual and below.shape == above.shape else above


class VariationalDropoutCell(nn.Module):
    """h' = cell(m_x x, h), with m_h h in all products: one mask for all steps of a sequence. Gal & Ghahramani 2016.

    The masks are drawn before the first step and carried along; therefore the input is projected within the step.
    Around a stack of cells, all share one m_h.
    """

    def __init__(self, input_dim: int, extra_dim: int, *, cell: Factory[RecurrentCell] = LSTMCell, dropout: Rate = 0.2):
        super().__init__()
        self.cell = cell(input_dim, extra_dim)
        if {*self.cell.state_dims} != {self.cell.dim}:
            raise ValueError("variational: its cells need one width; or write it inside, as the cell of stacked")
        self.input_dim = input_dim
        self.dim, self.state_dims, self.top = self.cell.dim, self.cell.state_dims, self.cell.top
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> Tensor:
        return x

    def start(self, states: CellStates) -> TensorTree:
        h = states[0]
        input_mask, output_mask = (self.dropout(h.new_ones(len(h), dim)) for dim in (self.input_dim, self.dim))
        return input_mask, output_mask, self.cell.start(states)

    def states(self, carry: TensorTree) -> CellStates:
        _, _, inner = cast(VariationalCarry, carry)
        return self.cell.states(inner)

    def forward(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        input_mask, output_mask, inner = cast(VariationalCarry, carry)
        both = output_mask if mask is None else output_mask * mask
        output, after = self.cell(self.cell.project(projected * input_mask), inner, extra, both)
        return output, (input_mask, output_mask, after)

    def run(self, x: Padded, carry: TensorTree) -> tuple[Padded, TensorTree]:
        return run_stepwise(self, x, carry)
