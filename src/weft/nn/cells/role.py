"""What a recurrent cell is."""

from typing import Protocol

from torch import Tensor

from weft.core.padded import Padded
from weft.core.tree import Tree

States = tuple[Tensor, ...]  # each [N,·], the widths are the cell's `state_dims`


class Cell(Protocol):
    """One step. Made as Cell(input_dim, extra_dim, ...); extra_dim is the width of an input that is known only step by
    step, as a context is (0: there is none).

    The part of a step that depends on the input alone is split off, so that it can be computed for a whole sequence
    at once.
    """

    dim: int  # width of the output
    state_dims: tuple[int, ...]
    top: int  # the state that stands for the output before the first step

    def project(self, x: Tensor) -> Tensor:
        """W x + b, for any number of steps: [...,N,I] -> [...,N,·]."""
        ...

    def start(self, states: States) -> Tree:
        """What is carried into the first step, from the states before it."""
        ...

    def states(self, carry: Tree) -> States:
        """The states in what is carried: the inverse of `start`."""
        ...

    def __call__(self, projected: Tensor, carry: Tree, extra: Tensor | None = None) -> tuple[Tensor, Tree]:
        """A projected input [N,·] and the extra input [N,extra_dim] -> the output [N,D], and what is carried on."""
        ...

    def run(self, x: Padded, states: States) -> tuple[Padded, States]:
        """A whole sequence, without an extra input: every output [N,T,D], and the states at each row's real length."""
        ...


def zeros(cell: Cell, like: Tensor) -> States:
    """The states before anything was read, a row for each row of `like`."""
    return tuple(like.new_zeros(len(like), dim) for dim in cell.state_dims)
