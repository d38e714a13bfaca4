"""The decoder that learned to align. Bahdanau, Cho & Bengio 2015."""

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
from weft.nn.bridges import Bridge, Linear
from weft.nn.cells.gru import GRU
from weft.nn.cells.role import Cell
from weft.nn.dropout import Dropout
from weft.nn.maxout import Maxout
from weft.nn.memory import Memory, Sizes
from weft.nn.scores import Additive, Score
from weft.nn.windows import Global, Window


class Bahdanau(nn.Module):
    """Attention is asked before the cell, with the last output (appendix A.2.2):

    c_i = sum_j a_ij h_j,  a_i = softmax(score(s_{i-1}, h))
    s_i = cell(E y_{i-1}, s_{i-1}, c_i)        the context enters every gate through its own matrix C
    t_i = maxout(U_o s_i + V_o E y_{i-1} + C_o c_i)        with s_i, as in g(y_{i-1}, s_i, c_i) of section 3.1
    s_0 = tanh(W_s h_1 backward): the default bridge.

    State: memory = the prepared annotations; carry = the cell's, the last output, the attention's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = GRU,
        score: Make[Score] = Additive,
        window: Make[Window] = Global,
        heads: Count = 1,
        projected: bool = False,
        bridge: Make[Bridge] = Linear,
        maxout: Count = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_memory(memory)
        self.dim = maxout
        self.cell = cell(input_dim, memory.values)
        self.attention = Attention(self.cell.dim, memory, score=score, window=window, heads=heads, projected=projected)
        self.bridge = bridge(memory, self.cell.state_dims)
        self.deep = Maxout(self.cell.dim + input_dim + memory.values, maxout)  # U_o, V_o, C_o side by side
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        states = self.bridge(memory)
        first = states[self.cell.top]
        return State(self.attention.prepare(memory), (self.cell.start(states), first, self.attention.start(memory)))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        prepared = cast(Prepared, state.memory)
        carry, s, past = cast(tuple[Tree, Tensor, Tree], state.carry)
        outputs, contexts, looks = [], [], []
        for projected in self.cell.project(x.transpose(0, 1)).unbind(0):
            context, weights, past = self.attention(s[:, None], prepared, past)
            with watch.place("decoder"):
                s, carry = self.cell(projected, carry, context[:, 0])
            outputs.append(s)
            contexts.append(context)
            looks.append(weights)
        attention = torch.cat(looks, 2)  # [N,H,T,S]
        watch.note("decoder.0.across", attention)
        hidden = self.deep(torch.cat([torch.stack(outputs, 1), x, torch.cat(contexts, 1)], -1))
        return Output(self.dropout(hidden), attention.mean(1)), State(prepared, (carry, s, past))
