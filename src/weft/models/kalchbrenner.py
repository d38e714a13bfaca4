"""Recurrent continuous translation model: a convolutional sentence encoder and a recurrent decoder that reads its
vector at every step. Kalchbrenner & Blunsom 2013.
"""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.core.state import State
from weft.models.interfaces import DecoderOutput, require_memory, require_source_embedding, require_target_embedding
from weft.nn.bridges import masked_mean
from weft.nn.cells.cell import RecurrentCell, zero_states
from weft.nn.cells.elman import ElmanCell
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list, normal_init


class KalchbrennerEncoder(nn.Module):
    """The convolutional sentence model (section 3); E^1 are the embeddings, a column each:

    E^i_t = tanh(sum_{j<i} K^i_j * E^{i-1}_{t+j} + b^i)      for i = 2, 3, ... while at least i columns are left
    s = tanh(sum_{j<n} L^n_j * E_j)                          of the n columns that remain

    Products are elementwise: every dimension has its own kernel. Nothing is pooled or padded, so a kernel of width i
    removes i - 1 columns. There are `layers` kernels; for a sentence that is too long for them, the widest is used
    again, which the paper, with kernels for any length, does not need.

    Memory: one position, s; `final` is s as well, for bridges.
    """

    def __init__(self, input_dim: int, *, layers: PositiveInt = 10):
        super().__init__()
        require_source_embedding(input_dim)
        self.sizes = MemorySizes(input_dim, input_dim, (((input_dim,),),))
        self.kernels = module_list(NarrowConvolution(input_dim, number + 2) for number in range(layers))
        self.tops = nn.Parameter(normal_init(layers, input_dim, layers, std=layers**-0.5))  # L^1, L^2 ...

    def forward(self, x: Padded) -> Memory:
        columns, count = x.data.transpose(1, 2), x.lengths()  # [B,D,S]; the first `count` of S are still in use
        for kernel in self._kernels_for(columns.shape[-1]):
            applies = count >= kernel.width
            columns = torch.where(applies[:, None, None], kernel(columns), columns)
            count = torch.where(applies, count - kernel.width + 1, count)
        columns = columns[..., : self.tops.shape[-1]]  # no more of them are left than there are kernels
        unused = torch.arange(columns.shape[-1], device=count.device) >= count[:, None]
        weights = self.tops[count - 1, :, : columns.shape[-1]].masked_fill(unused[:, None], 0.0)
        s = torch.tanh((columns * weights).sum(-1))  # [B,D]
        return Memory(s[:, None], s[:, None], x.mask[:, :1], (((s,),),))

    def _kernels_for(self, columns: int) -> Iterator["NarrowConvolution"]:
        number = 0
        while columns >= self.kernels[number].width:
            yield self.kernels[number]
            columns -= self.kernels[number].width - 1
            number = min(number + 1, len(self.kernels) - 1)


class NarrowConvolution(nn.Module):
    """tanh of a convolution in each dimension; its last `width` - 1 columns, past the end, are zeros."""

    def __init__(self, dim: int, width: int):
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(normal_init(dim, 1, width, std=width**-0.5))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, columns: Tensor) -> Tensor:
        """[B,D,S] -> [B,D,S]."""
        convolved = torch.tanh(F.conv1d(columns, self.weight, self.bias, groups=len(self.bias)))
        return F.pad(convolved, (0, self.width - 1))


class KalchbrennerDecoder(nn.Module):
    """h_i = tanh(I E y_{i-1} + R h_{i-1} + S s),  h_0 = 0; the head reads h_i. Model I, section 3.

    s is the vector of the encoder of the same name, or the mean of the vectors of another. Instead of the Elman cell
    any other can be used; it reads [E y_{i-1}; s].

    State: memory = s; carry = the cell's.
    """

    def __init__(
        self, input_dim: int, memory: MemorySizes, *, cell: Factory[RecurrentCell] = ElmanCell, dropout: Rate = 0.0
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_memory(memory)
        self.cell = cell(input_dim + memory.keys, 0)
        self.dim = self.cell.dim
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        return State(masked_mean(memory), self.cell.start(zero_states(self.cell, memory.keys)))

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        s = cast(Tensor, state.memory)  # [B,D]
        repeated = s.repeat_interleave(len(x) // len(s), 0)[:, None].expand(-1, x.shape[1], -1)
        with tracing.trace_scope("decoder"):
            outputs, carry = self.cell.run(Padded.unpadded(torch.cat([x, repeated], -1)), state.carry)
        return DecoderOutput(self.dropout(outputs.data), None), State(s, carry)
