"""The decoder that knows the source through its first state alone. Sutskever, Vinyals & Le 2014."""

from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.state import State
from weft.core.types import Make, Rate
from weft.model.roles import Output
from weft.model.source import require_divisor
from weft.model.target import require_tokens
from weft.nn.bridges import Bridge, Linear
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.role import Cell
from weft.nn.cells.sharing import share
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes


class Sutskever(nn.Module):
    """s_0 = h_T,  s_i = cell(E y_{i-1}, s_{i-1}); the head reads s_i.

    shared: the cell has the weights of the encoder's, one network reads and then writes.
    State: nothing in memory; carry = the cell's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = LSTM,
        bridge: Make[Bridge] = Linear,
        shared: bool = False,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_divisor(memory, 1)
        self.cell = cell(input_dim, 0)
        if shared:
            share(self.cell, memory.cells)
        self.dim = self.cell.dim
        self.bridge = bridge(memory, self.cell.state_dims)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        return State((), self.cell.start(self.bridge(memory)))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        with watch.place("decoder"):
            outputs, carry = self.cell.run(Padded.whole(x), state.carry)
        return Output(self.dropout(outputs.data), None), State((), carry)
