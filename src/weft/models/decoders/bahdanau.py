"""The decoder that attends before each step of its cell. Bahdanau, Cho & Bengio 2015."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import State, TensorTree
from weft.models.interfaces import DecoderOutput, require_memory, require_target_embedding
from weft.nn.attention import AttentionCarry, AttentionWindow, CrossAttention, GlobalWindow, PreparedMemory
from weft.nn.attention_scores import AdditiveScore, AttentionScore
from weft.nn.bridges import Bridge, LinearBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.gru import GRUCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import Maxout


class BahdanauDecoder(nn.Module):
    """Attention with the previous state as query, before the cell (appendix A.2.2):

    c_i = sum_j a_ij h_j,  a_i = softmax(score(s_{i-1}, h))
    s_i = cell(E y_{i-1}, s_{i-1}, c_i)        the context enters every gate through its own matrix C
    t_i = maxout(U_o s_i + V_o E y_{i-1} + C_o c_i)        with s_i, as in g(y_{i-1}, s_i, c_i) of section 3.1
    s_0 = tanh(W_s h_1 backward): the default bridge.

    State: memory = the prepared memory; carry = the cell's, the last output, the attention's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        cell: Factory[RecurrentCell] = GRUCell,
        score: Factory[AttentionScore] = AdditiveScore,
        window: Factory[AttentionWindow] = GlobalWindow,
        heads: PositiveInt = 1,
        projected: bool = False,
        bridge: Factory[Bridge] = LinearBridge,
        maxout_dim: PositiveInt = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_memory(memory)
        self.dim = maxout_dim
        self.cell = cell(input_dim, memory.values)
        self.attention = CrossAttention(
            self.cell.dim, memory, score=score, window=window, heads=heads, projected=projected
        )
        self.bridge = bridge(memory, self.cell.state_dims)
        self.maxout = Maxout(self.cell.dim + input_dim + memory.values, maxout_dim)  # U_o, V_o, C_o side by side
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        states = self.bridge(memory)
        carry = self.cell.start(states), states[self.cell.top], self.attention.start(memory)
        return State(self.attention.prepare(memory), carry)

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        prepared = cast(PreparedMemory, state.memory)
        cell_carry, s, attention_carry = cast(tuple[TensorTree, Tensor, AttentionCarry], state.carry)
        outputs, contexts, all_weights = [], [], []
        for projected in self.cell.project(x.transpose(0, 1)).unbind(0):
            context, weights, attention_carry = self.attention(s[:, None], prepared, attention_carry)
            with tracing.trace_scope("decoder"):
                s, cell_carry = self.cell(projected, cell_carry, context[:, 0])
            outputs.append(s)
            contexts.append(context)
            all_weights.append(weights)
        attention = torch.cat(all_weights, 2)  # [N,H,T,S]
        tracing.record_tensor("decoder.0.cross_attention", attention)
        hidden = self.maxout(torch.cat([torch.stack(outputs, 1), x, torch.cat(contexts, 1)], -1))
        after = State(prepared, (cell_carry, s, attention_carry))
        return DecoderOutput(self.dropout(hidden), attention.mean(1)), after
