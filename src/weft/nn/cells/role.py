"""What a recurrent cell is."""

from typing import Protocol, cast

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
    top: int  # the state that stands for the output before the first step

    @property
    def state_dims(self) -> tuple[int, ...]: ...

    def project(self, x: Tensor) -> Tensor:
        """W x + b, for any number of steps: [...,N,I] -> [...,N,·]."""
        ...

    def start(self, states: States) -> Tree:
        """What is carried into the first step, from the states before it."""
        ...

    def states(self, carry: Tree) -> States:
        """The states in what is carried: the inverse of `start`."""
        ...

    def __call__(
        self, projected: Tensor, carry: Tree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tree]:
        """A projected input [N,·] and the extra input [N,extra_dim] -> the output [N,D], and what is carried on.

        mask [N,D] is multiplied into the last output where it enters a product (dropout in time).
        """
        ...

    def run(self, x: Padded, carry: Tree) -> tuple[Padded, Tree]:
        """A whole sequence, without an extra input: every output [N,T,D], and the carry at each row's real length."""
        ...


def zeros(cell: Cell, like: Tensor) -> States:
    """The states before anything was read, a row for each row of `like`."""
    return tuple(like.new_zeros(len(like), dim) for dim in cell.state_dims)


def as_carry(states: States) -> Tree:
    """`start` of a cell that carries its states as they are."""
    return states


def as_states(carry: Tree) -> States:
    """`states` of a cell that carries them as they are."""
    return cast(States, carry)
