"""The decoder that is given a summary of the source at every step. Cho et al. 2014."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.state import State
from weft.core.types import Count, Make, Rate
from weft.model.roles import Output
from weft.model.source import require_memory
from weft.model.target import require_tokens
from weft.nn.bridges import Bridge, Linear
from weft.nn.cells.gru import GRU
from weft.nn.cells.role import Cell
from weft.nn.dropout import Dropout
from weft.nn.maxout import Maxout
from weft.nn.memory import Memory, Sizes


class Cho(nn.Module):
    """c = tanh(V h_T)                                         section 2.2 and appendix A
    s_i = cell([E y_{i-1}; c], s_{i-1})
    t_i = maxout(O_s s_i + O_y E y_{i-1} + O_c c)

    Where this is simpler than the appendix: s_0 = tanh(V' h_T), there tanh(V' c); and c enters the candidate as the
    input does, there through the reset gate. An encoder without a last state gives the mean annotation for h_T.

    State: memory = the summary c; carry = the cell's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = GRU,
        summary: Count = 256,
        bridge: Make[Bridge] = Linear,
        maxout: Count = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_memory(memory)
        self.dim = maxout
        self.cell = cell(input_dim + summary, 0)
        self.summary = Linear(memory, (summary,), of="last" if memory.final else "mean")
        self.bridge = bridge(memory, self.cell.state_dims)
        self.deep = Maxout(self.cell.dim + input_dim + summary, maxout)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        (summary,) = self.summary(memory)
        return State(summary, self.cell.start(self.bridge(memory)))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        c = cast(Tensor, state.memory)  # [B,C]
        per_row = c.repeat_interleave(len(x) // len(c), 0)[:, None].expand(-1, x.shape[1], -1)
        with watch.place("decoder"):
            outputs, carry = self.cell.run(Padded.whole(torch.cat([x, per_row], -1)), state.carry)
        hidden = self.deep(torch.cat([outputs.data, x, per_row], -1))
        return Output(self.dropout(hidden), None), State(c, carry)
