"""Recurrent encoders, one way or both ways."""

from typing import Literal

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.types import Count, Make, Rate
from weft.model.source import require_vectors
from weft.nn.cells.gru import GRU
from weft.nn.cells.role import Cell, States, zeros
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.stack import stack

Ways = Literal["forward", "backward", "both", "both-first"]
Merge = Literal["concat", "sum", "mean", "project"]


class Recurrent(nn.Module):
    """h_t = cell(x_t, h_{t-1}), layer upon layer: `layers` times `cell`, then those of `above`.

    ways: `backward` reads from the end, which is the reversed source of Sutskever et al. 2014; `both` runs a cell in
    each direction (Schuster & Paliwal 1997); `both-first` does so in the lowest layer alone (GNMT, Wu et al. 2016).
    merge: how two directions become one: [f; b], f + b, (f + b) / 2, or W [f; b].
    residual: x_{l+1} = x_l + layer_l(x_l), wherever both have one width and l is not the lowest.
    A backward cell runs on the reversed sequence, so padding needs no care. Dropout is on every layer's output,
    before the residual sum.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        cell: Make[Cell] = GRU,
        layers: Count = 1,
        above: tuple[Make[Cell], ...] = (),
        ways: Ways = "both",
        merge: Merge = "concat",
        residual: bool = False,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_vectors(input_dim)
        made: list[Layer] = []
        for number, make in enumerate((cell,) * layers + above):
            width = made[-1].dim if made else input_dim
            directions: Ways = ways if ways != "both-first" else ("both" if number == 0 else "forward")
            made.append(Layer(width, make, directions, merge))
        self.layers = stack(made)
        self.residual = residual
        self.dropout = Dropout(dropout)
        final = tuple(layer.state_dims for layer in made)
        self.sizes = Sizes(made[-1].dim, made[-1].dim, final, tuple(cell for layer in made for cell in layer.cells))

    def forward(self, x: Padded) -> Memory:
        final: list[tuple[States, ...]] = []
        for number, layer in enumerate(self.layers):
            with watch.place(f"encoder.{number}"):
                y, states = layer(x)
            add = self.residual and number > 0 and y.shape == x.data.shape
            x = x.with_data(x.data + self.dropout(y) if add else self.dropout(y))
            final.append(states)
        return Memory(x.data, x.data, x.mask, tuple(final))


class Layer(nn.Module):
    """A cell in each direction."""

    def __init__(self, input_dim: int, cell: Make[Cell], ways: Ways, merge: Merge):
        super().__init__()
        self.directions = {"forward": (False,), "backward": (True,)}.get(ways, (False, True))
        self.cells = stack(cell(input_dim, 0) for _ in self.directions)
        self.state_dims = tuple(one.state_dims for one in self.cells)
        both = len(self.cells) > 1
        width = self.cells[0].dim
        self.dim = 2 * width if both and merge == "concat" else width
        self.merge = merge if both else "sum"
        self.project = nn.Linear(2 * width, width) if both and merge == "project" else nn.Identity()

    def forward(self, x: Padded) -> tuple[Tensor, tuple[States, ...]]:
        runs = [run(cell, x, backward=back) for cell, back in zip(self.cells, self.directions, strict=True)]
        outputs = [output.data for output, _ in runs]
        return self._merged(outputs), tuple(states for _, states in runs)

    def _merged(self, outputs: list[Tensor]) -> Tensor:
        match self.merge:
            case "concat" | "project":
                return self.project(torch.cat(outputs, -1))
            case "mean":
                return (outputs[0] + outputs[1]) / 2
        return outputs[0] if len(outputs) == 1 else outputs[0] + outputs[1]


def run(cell: Cell, x: Padded, *, backward: bool) -> tuple[Padded, States]:
    """The cell over the sequence in one direction; outputs stand where their inputs stood."""
    with watch.place("backward" if backward else "forward"):
        outputs, carry = cell.run(x.reverse() if backward else x, cell.start(zeros(cell, x.data)))
    return outputs.reverse() if backward else outputs, cell.states(carry)
