"""A cell run over a sequence, step by step."""

import torch

from weft.core import tree
from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.nn.cells.role import Cell


def unroll(cell: Cell, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
    """Every output [N,T,D], and the carry after each row's last real position."""
    outputs = []
    for projected, real in zip(cell.project(x.data.transpose(0, 1)).unbind(0), x.mask.unbind(1), strict=True):
        output, after = cell(projected, carry)
        outputs.append(output)
        carry = tree.where(real, after, carry)
    return x.with_data(torch.stack(outputs, 1)), carry
