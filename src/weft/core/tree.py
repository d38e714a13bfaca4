"""A tree is a tensor or a tuple of trees; axis 0 of every tensor is the batch."""

from collections.abc import Callable
from typing import TypeAlias

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
