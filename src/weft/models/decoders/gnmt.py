"""The decoder of Google's neural machine translation. Wu et al. 2016, section 3."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import State, TensorTree
from weft.models.interfaces import DecoderOutput, require_memory, require_target_embedding
from weft.nn.attention import AttentionCarry, AttentionWindow, CrossAttention, GlobalWindow, PreparedMemory
from weft.nn.attention_scores import AdditiveScore, AttentionScore
from weft.nn.bridges import Bridge, ZeroBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import StackedCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes


class GNMTDecoder(nn.Module):
    """The lowest layer computes the queries, and all layers read the context:

    c_t = sum_s a_ts h_s,  a_t = softmax(score(y_{t-1}, h))      y = the lowest layer's output at the previous step
    y_t = lowest(E w_{t-1}, c_t)
    x_t = upper(y_t, c_t)          each upper layer reads [the layer below; c_t], with residual connections

    So the upper layers of one step can run while the lowest is at the next: attention waits only for the lowest.

    State: memory = the prepared memory; carry = lowest's, upper's, y, the attention's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        cell: Factory[RecurrentCell] = LSTMCell,
        layers: PositiveInt = 4,
        score: Factory[AttentionScore] = AdditiveScore,
        window: Factory[AttentionWindow] = GlobalWindow,
        heads: PositiveInt = 1,
        projected: bool = False,
        bridge: Factory[Bridge] = ZeroBridge,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_memory(memory)
        if layers < 2:
            raise ValueError("layers: at least 2 are needed, one that attends and one above it")
        self.lowest = cell(input_dim, memory.values)
        self.upper = StackedCell(
            self.lowest.dim,
            memory.values,
            cell=cell,
            layers=layers - 1,
            residual=True,
            extra_input="all",
            dropout=dropout,
        )
        self.dim = self.upper.dim
        self.attention = CrossAttention(
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

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        prepared = cast(PreparedMemory, state.memory)
        lower, upper, y, past = cast(tuple[TensorTree, TensorTree, Tensor, AttentionCarry], state.carry)
        outputs, all_weights = [], []
        for projected in self.lowest.project(x.transpose(0, 1)).unbind(0):
            context, weights, past = self.attention(y[:, None], prepared, past)
            with tracing.trace_scope("decoder.lowest"):
                y, lower = self.lowest(projected, lower, context[:, 0])
            with tracing.trace_scope("decoder.upper"):
                output, upper = self.upper(self.upper.project(self.dropout(y)), upper, context[:, 0])
            outputs.append(output)
            all_weights.append(weights)
        attention = torch.cat(all_weights, 2)
        tracing.record_tensor("decoder.0.cross_attention", attention)
        hidden = self.dropout(torch.stack(outputs, 1))
        return DecoderOutput(hidden, attention.mean(1)), State(prepared, (lower, upper, y, past))
