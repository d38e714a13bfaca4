"""A recurrent encoder, one way or both ways."""

from collections.abc import Sequence

import torch
from torch import nn

from weft.core.padded import Padded
from weft.core.types import Count, Make, Rate
from weft.nn.cells import GRU, Carry, Cell
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.recurrent import unroll
from weft.nn.stack import stack


class Recurrent(nn.Module):
    """h_t = cell(x_t, h_{t-1}); both ways: [h forward; h backward] (Schuster & Paliwal 1997, Bahdanau et al. 2015).

    The backward cell runs on the reversed sequence, so padding needs no care. Dropout is on every layer's output.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        cell: Make[Cell] = GRU,
        layers: Count = 1,
        both_ways: bool = True,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        made: list[Sequence[Cell]] = []
        width = input_dim
        for _ in range(layers):
            made.append(stack(cell(width) for _ in range(2 if both_ways else 1)))
            width = sum(one.dim for one in made[-1])
        self.layers = stack(made)
        self.dropout = Dropout(dropout)
        self.sizes = Sizes(width, width, tuple(tuple(one.carry_dims for one in directions) for directions in made))

    def forward(self, x: Padded) -> Memory:
        final: list[tuple[Carry, ...]] = []
        for directions in self.layers:
            runs = [run(cell, x, backward=way == 1) for way, cell in enumerate(directions)]
            x = x.with_data(self.dropout(torch.cat([outputs.data for outputs, _ in runs], -1)))
            final.append(tuple(carry for _, carry in runs))
        return Memory(x.data, x.data, x.mask, tuple(final))


def run(cell: Cell, x: Padded, *, backward: bool) -> tuple[Padded, Carry]:
    """The cell over the sequence in one direction; outputs stand where their inputs stood."""
    if not backward:
        return unroll(cell, x)
    outputs, carry = unroll(cell, x.reverse())
    return outputs.reverse(), carry
