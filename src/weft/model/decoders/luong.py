"""The decoder that looks after its step. Luong, Pham & Manning 2015."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.state import State
from weft.core.tree import Tree
from weft.core.types import Count, Make, Rate
from weft.model.roles import Output
from weft.model.source import require_memory
from weft.model.target import require_tokens
from weft.nn.attention import Attention, Prepared
from weft.nn.bridges import Bridge, Linear
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.role import Cell
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.scores import General, Score
from weft.nn.windows import Global, Window


class Luong(nn.Module):
    """h_t = cell(E y_{t-1}, h_{t-1})       with input feeding: cell([E y_{t-1}; h~_{t-1}], h_{t-1})  (section 3.3)
    c_t = sum_s a_ts h_s,  a_t = softmax(score(h_t, h))
    h~_t = tanh(W_c [c_t; h_t])            equation 5; the head reads it

    Without feeding no step waits for an attention: cell and attention run over the whole sentence at once.

    State: memory = the prepared annotations; carry = the cell's, h~ (zeros at first), the attention's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = LSTM,
        score: Make[Score] = General,
        window: Make[Window] = Global,
        heads: Count = 1,
        projected: bool = False,
        feeding: bool = True,
        bridge: Make[Bridge] = Linear,
        dim: Count = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_memory(memory)
        self.dim = dim
        self.feeding = feeding
        self.cell = cell(input_dim, dim if feeding else 0)
        self.attention = Attention(self.cell.dim, memory, score=score, window=window, heads=heads, projected=projected)
        self.bridge = bridge(memory, self.cell.state_dims)
        self.combine = nn.Linear(memory.values + self.cell.dim, dim, bias=False)  # W_c
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        fed = memory.keys.new_zeros(len(memory.keys), self.dim)
        carry = self.cell.start(self.bridge(memory)), fed, self.attention.start(memory)
        return State(self.attention.prepare(memory), carry)

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        run = self._fed if self.feeding else self._at_once
        hidden, weights, carry = run(x, cast(Prepared, state.memory), cast(tuple[Tree, Tensor, Tree], state.carry))
        watch.note("decoder.0.across", weights)
        return Output(hidden, weights.mean(1)), State(state.memory, carry)

    def _at_once(self, x: Tensor, prepared: Prepared, carry: tuple[Tree, Tensor, Tree]) -> tuple[Tensor, Tensor, Tree]:
        inner, _, past = carry
        with watch.place("decoder"):
            outputs, inner = self.cell.run(Padded.whole(x), inner)
        hidden, weights, past = self._look(outputs.data, prepared, past)
        return hidden, weights, (inner, hidden[:, -1], past)

    def _fed(self, x: Tensor, prepared: Prepared, carry: tuple[Tree, Tensor, Tree]) -> tuple[Tensor, Tensor, Tree]:
        inner, fed, past = carry
        hiddens, looks = [], []
        for projected in self.cell.project(x.transpose(0, 1)).unbind(0):
            with watch.place("decoder"):
                h, inner = self.cell(projected, inner, fed)
            hidden, weights, past = self._look(h[:, None], prepared, past)
            fed = hidden[:, 0]
            hiddens.append(hidden)
            looks.append(weights)
        return torch.cat(hiddens, 1), torch.cat(looks, 2), (inner, fed, past)

    def _look(self, h: Tensor, prepared: Prepared, past: Tree) -> tuple[Tensor, Tensor, Tree]:
        """h [N,T,D] -> h~ [N,T,D], weights [N,H,T,S], the attention's carry."""
        context, weights, past = self.attention(h, prepared, past)
        return self.dropout(torch.tanh(self.combine(torch.cat([context, h], -1)))), weights, past
