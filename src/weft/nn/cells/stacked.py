"""Cells on top of each other are a cell."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Literal, cast

from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.core.types import Count, Make, Rate
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.role import Cell, States
from weft.nn.dropout import Dropout
from weft.nn.stack import stack


class Stacked(nn.Module):
    """The output of each cell is the input of the next: `layers` times `cell`, then those of `above`.

    residual: x_{l+1} = x_l + cell_l(x_l) wherever both have one width, the lowest left out (Wu et al. 2016, eq. 6).
    extra: whether an extra input (a context) goes to the lowest cell alone, or to all of them (GNMT).
    dropout: on the way from one cell to the next (Zaremba et al. 2014), not in time.
    """

    def __init__(
        self,
        input_dim: int,
        extra_dim: int,
        *,
        cell: Make[Cell] = LSTM,
        layers: Count = 2,
        above: tuple[Make[Cell], ...] = (),
        residual: bool = False,
        extra: Literal["lowest", "all"] = "lowest",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        made: list[Cell] = []
        for make in (cell,) * layers + above:
            width = made[-1].dim if made else input_dim
            made.append(make(width, extra_dim if extra == "all" or not made else 0))
        self.cells = stack(made)
        self.dim = made[-1].dim
        self.top = sum(len(cell.state_dims) for cell in made[:-1]) + made[-1].top
        self.state_dims = tuple(dim for cell in made for dim in cell.state_dims)
        self.residual = residual
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> Tensor:
        return self.cells[0].project(x)

    def start(self, states: States) -> Tree:
        return tuple(cell.start(share) for cell, share in zip(self.cells, self._shares(states), strict=True))

    def states(self, carry: Tree) -> States:
        return tuple(state for cell, part in zip(self.cells, carry, strict=True) for state in cell.states(part))

    def forward(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        first, *rest = cast(tuple[Tree, ...], carry)
        lowest, *above = self.cells
        with watch.place("0"):
            x, after = lowest(projected, first, extra, mask)
        carried = [after]
        for number, (cell, before) in enumerate(zip(above, rest, strict=True), start=1):
            with watch.place(str(number)):
                y, after = cell(cell.project(self.dropout(x)), before, extra, mask)
            x = self._joined(x, y)
            carried.append(after)
        return x, tuple(carried)

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        """Cell by cell, so that each may use its kernel."""
        first, *rest = cast(tuple[Tree, ...], carry)
        with watch.place("0"):
            y, after = self.cells[0].run(x, first)
        carried = [after]
        for number, (cell, before) in enumerate(zip(self.cells[1:], rest, strict=True), start=1):
            with watch.place(str(number)):
                above, after = cell.run(y.with_data(self.dropout(y.data)), before)
            y = y.with_data(self._joined(y.data, above.data))
            carried.append(after)
        return y, tuple(carried)

    def _shares(self, states: States) -> list[States]:
        """Each cell's states."""
        ends = accumulate((len(cell.state_dims) for cell in self.cells), initial=0)
        return [states[begin:end] for begin, end in pairwise(ends)]

    def _joined(self, below: Tensor, above: Tensor) -> Tensor:
        return below + above if self.residual and below.shape == above.shape else above
