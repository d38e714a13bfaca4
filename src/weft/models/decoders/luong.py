"""The decoder that attends after each step of its cell, with or without input feeding. Luong, Pham & Manning 2015."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import State, TensorTree
from weft.models.interfaces import DecoderOutput, require_memory, require_target_embedding
from weft.nn.attention import AttentionCarry, AttentionWindow, CrossAttention, GlobalWindow, PreparedMemory
from weft.nn.attention_scores import AttentionScore, GeneralScore
from weft.nn.bridges import Bridge, LinearBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes

LuongCarry = tuple[TensorTree, Tensor, AttentionCarry]  # the cell's, h~ (zeros at first), the attention's


class LuongDecoder(nn.Module):
    """h_t = cell(E y_{t-1}, h_{t-1})       with input feeding: cell([E y_{t-1}; h~_{t-1}], h_{t-1})  (section 3.3)
    c_t = sum_s a_ts h_s,  a_t = softmax(score(h_t, h))
    h~_t = tanh(W_c [c_t; h_t])            equation 5; the head reads it

    Without input feeding no step waits for an attention: the cell and the attention run over the sentence at once.

    State: memory = the prepared memory; carry = LuongCarry.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        cell: Factory[RecurrentCell] = LSTMCell,
        score: Factory[AttentionScore] = GeneralScore,
        window: Factory[AttentionWindow] = GlobalWindow,
        heads: PositiveInt = 1,
        projected: bool = False,
        input_feeding: bool = True,
        bridge: Factory[Bridge] = LinearBridge,
        dim: PositiveInt = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_memory(memory)
        self.dim = dim
        self.input_feeding = input_feeding
        self.cell = cell(input_dim, dim if input_feeding else 0)
        self.attention = CrossAttention(
            self.cell.dim, memory, score=score, window=window, heads=heads, projected=projected
        )
        self.bridge = bridge(memory, self.cell.state_dims)
        self.combine = nn.Linear(memory.values + self.cell.dim, dim, bias=False)  # W_c
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        zeros = memory.keys.new_zeros(len(memory.keys), self.dim)
        carry = self.cell.start(self.bridge(memory)), zeros, self.attention.start(memory)
        return State(self.attention.prepare(memory), carry)

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        run = self._run_stepwise if self.input_feeding else self._run_parallel
        hidden, weights, carry = run(x, cast(PreparedMemory, state.memory), cast(LuongCarry, state.carry))
        tracing.record_tensor("decoder.0.cross_attention", weights)
        return DecoderOutput(hidden, weights.mean(1)), State(state.memory, carry)

    def _run_parallel(
        self, x: Tensor, prepared: PreparedMemory, carry: LuongCarry
    ) -> tuple[Tensor, Tensor, TensorTree]:
        cell_carry, _, past = carry
        with tracing.trace_scope("decoder"):
            outputs, cell_carry = self.cell.run(Padded.unpadded(x), cell_carry)
        hidden, weights, past = self._attend(outputs.data, prepared, past)
        return hidden, weights, (cell_carry, hidden[:, -1], past)

    def _run_stepwise(
        self, x: Tensor, prepared: PreparedMemory, carry: LuongCarry
    ) -> tuple[Tensor, Tensor, TensorTree]:
        cell_carry, last, past = carry
        outputs, all_weights = [], []
        for projected in self.cell.project(x.transpose(0, 1)).unbind(0):
            with tracing.trace_scope("decoder"):
                h, cell_carry = self.cell(projected, cell_carry, last)
            hidden, weights, past = self._attend(h[:, None], prepared, past)
            last = hidden[:, 0]
            outputs.append(hidden)
            all_weights.append(weights)
        return torch.cat(outputs, 1), torch.cat(all_weights, 2), (cell_carry, last, past)

    def _attend(
        self, h: Tensor, prepared: PreparedMemory, past: AttentionCarry
    ) -> tuple[Tensor, Tensor, AttentionCarry]:
        """h [N,T,D] -> h~ [N,T,D], weights [N,H,T,S], the attention's carry."""
        context, weights, past = self.attention(h, prepared, past)
        return self.dropout(torch.tanh(self.combine(torch.cat([context, h], -1)))), weights, past
