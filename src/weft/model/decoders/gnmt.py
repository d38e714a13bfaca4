"""The decoder of Google's neural machine translation. Wu et al. 2016, section 3."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.state import State
from weft.core.tree import Tree
from weft.core.types import Count, Make, Rate
from weft.model.roles import Output
from weft.model.source import require_memory
from weft.model.target import require_tokens
from weft.nn.attention import Attention, Prepared
from weft.nn.bridges import Bridge, Zeros
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.role import Cell
from weft.nn.cells.stacked import Stacked
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.scores import Additive, Score
from weft.nn.windows import Global, Window


class GNMT(nn.Module):
    """The lowest layer asks, and all layers are told:

    c_t = sum_s a_ts h_s,  a_t = softmax(score(y_{t-1}, h))      y = the lowest layer's output, of the step before
    y_t = lowest(E w_{t-1}, c_t)
    x_t = upper(y_t, c_t)          each layer above reads [what is below; c_t], with residual connections

    So the upper layers of one step can run while the lowest is at the next: attention waits only for the lowest.

    State: memory = the prepared annotations; carry = lowest's, upper's, y, the attention's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = LSTM,
        layers: Count = 4,
        score: Make[Score] = Additive,
        window: Make[Window] = Global,
        heads: Count = 1,
        projected: bool = False,
        bridge: Make[Bridge] = Zeros,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_memory(memory)
        if layers < 2:
            raise ValueError("layers: at least 2 are needed, one that asks and one above it")
        self.lowest = cell(input_dim, memory.values)
        self.upper = Stacked(
            self.lowest.dim, memory.values, cell=cell, layers=layers - 1, residual=True, extra="all", dropout=dropout
        )
        self.dim = self.upper.dim
        self.attention = Attention(
            self.lowest.dim, memory, score=score, window=window, heads=heads, projected=projected
        )
        self.bridge = bridge(memory, self.lowest.state_dims + self.upper.state_dims)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        states = self.bridge(memory)
        count = len(self.lowest.state_dims)
        carry = (
            self.lowest.start(states[:count]),
            self.upper.start(states[count:]),
            states[self.lowest.top],
            self.attention.start(memory),
        )
        return State(self.attention.prepare(memory), carry)

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        prepared = cast(Prepared, state.memory)
        low, up, y, past = cast(tuple[Tree, Tree, Tensor, Tree], state.carry)
        outputs, looks = [], []
        for projected in self.lowest.project(x.transpose(0, 1)).unbind(0):
            context, weights, past = self.attention(y[:, None], prepared, past)
            with watch.place("decoder.lowest"):
                y, low = self.lowest(projected, low, context[:, 0])
            with watch.place("decoder.upper"):
                top, up = self.upper(self.upper.project(self.dropout(y)), up, context[:, 0])
            outputs.append(top)
            looks.append(weights)
        attention = torch.cat(looks, 2)
        watch.note("decoder.0.across", attention)
        return Output(self.dropout(torch.stack(outputs, 1)), attention.mean(1)), State(prepared, (low, up, y, past))
