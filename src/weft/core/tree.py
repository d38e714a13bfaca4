"""A tree is a tensor or a tuple of trees; axis 0 of every tensor is the batch."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

Tree: TypeAlias = "Tensor | tuple[Tree, ...]"


def each(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """The same tree with `function` applied to every tensor."""
    if isinstance(tree, Tensor):
        return function(tree)
    branches = [each(function, branch) for branch in tree]
    return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)


def select(tree: Tree, rows: Tensor) -> Tree:
    """The given rows of every tensor, in that order; a row may come several times."""
    return each(lambda tensor: tensor.index_select(0, rows), tree)


def where(rows: Tensor, yes: Tree, no: Tree) -> Tree:
    """Each row of every tensor from the one tree or the other: rows [N] says from which."""
    if isinstance(yes, Tensor) and isinstance(no, Tensor):
        return torch.where(rows.view(-1, *[1] * (yes.dim() - 1)), yes, no)
    branches = [where(rows, one, other) for one, other in zip(yes, no, strict=True)]
    return type(yes)(*branches) if hasattr(yes, "_fields") else tuple(branches)
