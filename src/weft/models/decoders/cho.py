"""The decoder that receives a summary of the source at every step. Cho et al. 2014."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import State
from weft.models.interfaces import DecoderOutput, require_memory, require_target_embedding
from weft.nn.bridges import Bridge, LinearBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.gru import GRUCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import Maxout


class ChoDecoder(nn.Module):
    """c = tanh(V h_T)                                         section 2.2 and appendix A
    s_i = cell([E y_{i-1}; c], s_{i-1})
    t_i = maxout(O_s s_i + O_y E y_{i-1} + O_c c)

    Simpler than the appendix: s_0 = tanh(V' h_T), there tanh(V' c); and c enters the candidate as the input does, there
    through the reset gate. For an encoder without a last state, h_T is the mean of the memory.

    State: memory = the summary c; carry = the cell's.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        cell: Factory[RecurrentCell] = GRUCell,
        summary_dim: PositiveInt = 256,
        bridge: Factory[Bridge] = LinearBridge,
        maxout_dim: PositiveInt = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_memory(memory)
        self.dim = maxout_dim
        self.cell = cell(input_dim + summary_dim, 0)
        self.summary = LinearBridge(memory, (summary_dim,), summary="last" if memory.final else "mean")
        self.bridge = bridge(memory, self.cell.state_dims)
        self.maxout = Maxout(self.cell.dim + input_dim + summary_dim, maxout_dim)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        (summary,) = self.summary(memory)
        return State(summary, self.cell.start(self.bridge(memory)))

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        c = cast(Tensor, state.memory)  # [B,C]
        repeated = c.repeat_interleave(len(x) // len(c), 0)[:, None].expand(-1, x.shape[1], -1)
        with tracing.trace_scope("decoder"):
            outputs, carry = self.cell.run(Padded.unpadded(torch.cat([x, repeated], -1)), state.carry)
        hidden = self.maxout(torch.cat([outputs.data, x, repeated], -1))
        return DecoderOutput(self.dropout(hidden), None), State(c, carry)
