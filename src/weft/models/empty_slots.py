"""Modules for slots that a model leaves empty: the encoder of a language model, and the decoder and head of a model
that has only a frame head.
"""

from torch import Tensor, nn

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import State
from weft.models.slots import DecoderOutput
from weft.nn.memory import Memory, MemorySizes


class NoEncoder(nn.Module):
    """A memory without positions: the decoder is a language model, p(y) = prod_i p(y_i | y_1 ... y_{i-1})."""

    def __init__(self, input_dim: int):
        super().__init__()
        if input_dim:
            raise ValueError("reads no source, so there must be no embedding of one: write model.source: none too")
        self.sizes = MemorySizes(0, 0)

    def forward(self, x: Padded) -> Memory:
        empty = x.data[:, :0]  # [B,0,0]
        return Memory(empty, empty, x.mask[:, :0])


class NoDecoder(nn.Module):
    """The decoder of a model whose frame head predicts the whole output at once."""

    dim = 0

    def __init__(self, input_dim: int, sizes: MemorySizes):  # noqa: ARG002 (interface)
        super().__init__()
        if input_dim:
            raise ValueError("reads no tokens, so there must be no embedding of them: write model.target: none too")

    def start(self, memory: Memory) -> State:  # noqa: ARG002 (interface)
        raise no_decoder_error()

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:  # noqa: ARG002 (interface)
        raise no_decoder_error()


class NoHead(nn.Module):
    """The head of a model without a decoder."""

    bias: nn.Parameter | None = None

    @property
    def weight(self) -> nn.Parameter:
        raise no_decoder_error()

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:  # noqa: ARG002 (interface)
        raise no_decoder_error()

    def rows(self, classes: Tensor) -> Tensor:  # noqa: ARG002 (interface)
        raise no_decoder_error()


def no_decoder_error() -> UserError:
    return UserError(
        "this model has no decoder (model.decoder: none), so there are no steps to take: its frame head predicts the "
        "whole output at once"
    )
