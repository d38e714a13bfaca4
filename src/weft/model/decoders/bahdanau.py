"""The decoder that learned to align. Bahdanau, Cho & Bengio 2015."""

from typing import Literal, cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.state import State
from weft.core.types import Count, Make, Rate
from weft.model.roles import Output
from weft.nn.attention import Attention, Prepared
from weft.nn.cells import GRU, Carry, Cell
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.scores import Additive, Score


class Bahdanau(nn.Module):
    """Attention is asked before the cell, with the last state (appendix A.2.2):

    c_i = sum_j a_ij h_j,  a_i = softmax(score(s_{i-1}, h))
    s_i = cell(E y_{i-1}, s_{i-1}, c_i)        the context enters every gate through its own matrix C
    t_i = maxout(U_o s_i + V_o E y_{i-1} + C_o c_i)        with s_i, as in g(y_{i-1}, s_i, c_i) of section 3.1
    s_0 = tanh(W_s h_1 backward), or of the mean annotation with `start: mean`, for encoders without a last state.

    State: memory = the prepared annotations; carry = the cell's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        cell: Make[Cell] = GRU,
        score: Make[Score] = Additive,
        maxout: Count = 256,
        start: Literal["last", "mean"] = "last",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        self.dim = maxout
        self.cell = cell(input_dim)
        self.attention = Attention(self.cell.dim, memory, score=score)
        self.context = nn.Linear(memory.values, self.cell.input_rows, bias=False)  # C
        self.deep = nn.Linear(self.cell.dim + input_dim + memory.values, 2 * maxout)  # U_o, V_o, C_o side by side
        self.mean_start = start == "mean"
        if not (self.mean_start or memory.final):
            raise ValueError("start: last needs an encoder with a last state, such as recurrent; use start: mean")
        start_dim = memory.keys if self.mean_start else memory.final[-1][-1][0]
        self.bridge = nn.ModuleList(nn.Linear(start_dim, dim) for dim in self.cell.carry_dims)  # W_s
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        summary = mean_real(memory) if self.mean_start else last_state(memory)
        carry = tuple(torch.tanh(bridge(summary)) for bridge in self.bridge)
        return State(self.attention.prepare(memory), carry)

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        prepared, carry = cast(Prepared, state.memory), cast(Carry, state.carry)
        hiddens, contexts, looks = [], [], []
        for projected in self.cell.project(x.transpose(0, 1)).unbind(0):
            context, weights = self.attention(carry[0][:, None], prepared)
            carry = self.cell(projected + self.context(context[:, 0]), carry)
            hiddens.append(carry[0])
            contexts.append(context)
            looks.append(weights)
        attention = torch.cat(looks, 2)  # [N,1,T,S]
        watch.note("decoder.0.across", attention)
        joined = torch.cat([torch.stack(hiddens, 1), x, torch.cat(contexts, 1)], -1)
        hidden = self.deep(joined).view(*x.shape[:2], -1, 2).amax(-1)
        return Output(self.dropout(hidden), attention[:, 0]), State(prepared, carry)


def last_state(memory: Memory) -> Tensor:
    """h_1 of the backward direction (its last step): top layer, last direction, what the cell gives out."""
    return cast(tuple[tuple[Carry, ...], ...], memory.final)[-1][-1][0]


def mean_real(memory: Memory) -> Tensor:
    """[B,D], the mean of the real annotations."""
    weights = memory.mask.to(memory.keys.dtype)[:, :, None]
    return (memory.keys * weights).sum(1) / weights.sum(1)
