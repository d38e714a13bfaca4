"""The decoder of a model that says its whole output at once."""

from torch import Tensor, nn

from weft.core.errors import UserError
from weft.core.state import State
from weft.model.roles import Output
from weft.nn.memory import Memory, Sizes


class NoDecoder(nn.Module):
    """There are no steps: what such a model says is in the frames of its lattice."""

    dim = 0

    def __init__(self, input_dim: int, sizes: Sizes):  # noqa: ARG002 (as all decoders)
        super().__init__()
        if input_dim:
            raise ValueError("is fed no tokens, so there must be no embedding of them: write model.target: none too")

    def start(self, memory: Memory) -> State:  # noqa: ARG002 (as all decoders)
        raise no_steps()

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:  # noqa: ARG002 (as all decoders)
        raise no_steps()


def no_steps() -> UserError:
    return UserError(
        "this model has no decoder (model.decoder: none), so there are no steps to take: its lattice says the whole "
        "output at once"
    )
