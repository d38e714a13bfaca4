"""A recurrent language model that knows a sentence's vector at every step. Kalchbrenner & Blunsom 2013."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.state import State
from weft.core.types import Make, Rate
from weft.model.roles import Output
from weft.model.source import require_memory
from weft.model.target import require_tokens
from weft.nn.bridges import mean_real
from weft.nn.cells.plain import Plain
from weft.nn.cells.role import Cell, zeros
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes


class KalchbrennerDecoder(nn.Module):
    """h_i = tanh(I E y_{i-1} + R h_{i-1} + S s),  h_0 = 0; the head reads h_i. Model I, section 3.

    s is what the encoder of the same name leaves; of an encoder that leaves many vectors, their mean. In place of the
    plain cell any other may stand, which is given [E y_{i-1}; s].

    State: memory = s; carry = the cell's.
    """

    def __init__(self, input_dim: int, memory: Sizes, *, cell: Make[Cell] = Plain, dropout: Rate = 0.0):
        super().__init__()
        require_tokens(input_dim)
        require_memory(memory)
        self.cell = cell(input_dim + memory.keys, 0)
        self.dim = self.cell.dim
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        return State(mean_real(memory), self.cell.start(zeros(self.cell, memory.keys)))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        s = cast(Tensor, state.memory)  # [B,D]
        per_row = s.repeat_interleave(len(x) // len(s), 0)[:, None].expand(-1, x.shape[1], -1)
        with watch.place("decoder"):
            outputs, carry = self.cell.run(Padded.whole(torch.cat([x, per_row], -1)), state.carry)
        return Output(self.dropout(outputs.data), None), State(s, carry)
