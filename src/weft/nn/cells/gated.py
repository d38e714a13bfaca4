"""What cells share whose states all have one width."""

from typing import cast

from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.nn.cells.products import Inputs
from weft.nn.cells.role import States
from weft.nn.cells.unroll import unroll


class Gated(nn.Module):
    """A cell without its step: `rows` times `dim` numbers come from the input, `states` states are carried as they are.

    The first state is the output. Whoever fills it in writes `forward`.
    """

    def __init__(
        self, input_dim: int, extra_dim: int, dim: int, *, rows: int, states: int = 1, normalise: bool = False
    ):
        super().__init__()
        self.dim, self.top = dim, 0
        self.state_dims = (dim,) * states
        self.inputs = Inputs(input_dim, extra_dim, rows * dim, normalise=normalise)

    def project(self, x: Tensor) -> Tensor:
        return self.inputs.project(x)

    def start(self, states: States) -> Tree:
        return states

    def states(self, carry: Tree) -> States:
        return cast(States, carry)

    def forward(self, projected: Tensor, carry: Tree, extra: Tensor | None = None) -> tuple[Tensor, Tree]:
        raise NotImplementedError

    def run(self, x: Padded, states: States) -> tuple[Padded, States]:
        return unroll(self, x, states)
