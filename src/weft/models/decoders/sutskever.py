"""The decoder that knows the source only through its initial state. Sutskever, Vinyals & Le 2014."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import cast

from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, Rate
from weft.core.state import State
from weft.models.interfaces import DecoderOutput, require_attention_layers, require_target_embedding
from weft.nn.bridges import Bridge, LinearBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes


class SutskeverDecoder(nn.Module):
    """s_0 = h_T,  s_i = cell(E y_{i-1}, s_{i-1}); the head reads s_i.

    share_weights: the cell has the weights of the encoder's cells: one network reads and then writes.
    State: memory is empty; carry = the cell's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        cell: Factory[RecurrentCell] = LSTMCell,
        bridge: Factory[Bridge] = LinearBridge,
        share_weights: bool = False,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_attention_layers(memory, 1)
        self.cell = cell(input_dim, 0)
        if share_weights:
            share_cell_weights(self.cell, memory.cells)
        self.dim = self.cell.dim
        self.bridge = bridge(memory, self.cell.state_dims)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        return State((), self.cell.start(self.bridge(memory)))

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        with tracing.trace_scope("decoder"):
            outputs, carry = self.cell.run(Padded.unpadded(x), state.carry)
        return DecoderOutput(self.dropout(outputs.data), None), State((), carry)


def share_cell_weights(cell: RecurrentCell, owners: Iterable[RecurrentCell]) -> None:
    """Give `cell` the weights of `owners`, which together make up the same cell; raise ValueError if they do not."""
    own, shared = [*_weights(cell)], [weight for owner in owners for weight in _weights(owner)]
    if [(name, weight.shape) for _, name, weight in own] != [(name, weight.shape) for _, name, weight in shared]:
        raise ValueError(
            "share_weights: the encoder's cells are not the decoder's. They need the same types and sizes, the same "
            "number of layers, embeddings of one width, and an encoder that reads one way"
        )
    for (module, name, _), (_, _, weight) in zip(own, shared, strict=True):
        setattr(module, name, weight)


def _weights(cell: RecurrentCell) -> Iterator[tuple[nn.Module, str, Tensor]]:
    """Yield each parameter and buffer of a cell, with its module and its name there."""
    for module in cast(nn.Module, cell).modules():
        for name, weight in chain(module.named_parameters(recurse=False), module.named_buffers(recurse=False)):
            yield module, name, weight
