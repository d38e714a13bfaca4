"""Convolutional sequence-to-sequence learning: encoder and decoder. Gehring et al. 2017."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import PositiveInt, Rate
from weft.core.state import State
from weft.models.interfaces import DecoderOutput, require_memory, require_source_embedding, require_target_embedding
from weft.nn.attention import CrossAttention, PreparedMemory
from weft.nn.attention_scores import DotScore
from weft.nn.convolution import (
    ConvLayerGroup,
    ConvLayerSizes,
    GatedConvolution,
    WeightNormLinear,
    conv_layer_sizes,
    pad_centered,
    scale_residual_sum,
    skip_projection,
)
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list


class ConvS2SEncoder(nn.Module):
    """Gated convolutions between two linear maps (section 3.2); e are the embeddings, with positions:

    h^0 = W e,   h^l = (v(K^l [h^{l-1}_{i-k/2}; ...; h^{l-1}_{i+k/2}]) + h^{l-1}) sqrt(1/2),   z = V h^L
    keys: z,  values: (z + e) sqrt(1/2)

    `layers` of width `dim` and `kernel_size`, then `upper_layers`. The gradient of z is divided by `attention_layers`,
    the number of decoder layers that attend to the memory; that of e is not (section 3.4).
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: PositiveInt = 4,
        dim: PositiveInt = 256,
        kernel_size: PositiveInt = 3,
        upper_layers: tuple[ConvLayerGroup, ...] = (),
        attention_layers: PositiveInt = 1,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source_embedding(input_dim)
        self.sizes = MemorySizes(input_dim, input_dim, attention_layers=attention_layers)
        self.attention_layers = attention_layers
        sizes = [*conv_layer_sizes((ConvLayerGroup(layers=layers, dim=dim, kernel_size=kernel_size), *upper_layers))]
        self.input_map = WeightNormLinear(input_dim, dim)
        self.layers = module_list(ConvS2SEncoderLayer(size, dropout) for size in sizes)
        self.output_map = WeightNormLinear(sizes[-1].dim, input_dim)

    def forward(self, x: Padded) -> Memory:
        h = self.input_map(x.data)
        for layer in self.layers:
            h = layer(x.with_data(h))
        z = divide_gradient(self.output_map(h), self.attention_layers)
        return Memory(z, scale_residual_sum(z + x.data), x.mask)


class ConvS2SEncoderLayer(nn.Module):
    """A gated convolution centered on each position, with a residual connection."""

    def __init__(self, sizes: ConvLayerSizes, dropout: float):
        super().__init__()
        self.convolution = GatedConvolution(sizes.input_dim, sizes.dim, kernel_size=sizes.kernel_size, dropout=dropout)
        self.skip = skip_projection(sizes)
        self.dropout = Dropout(dropout)

    def forward(self, x: Padded) -> Tensor:
        padded = pad_centered(x.with_data(self.dropout(x.data)), self.convolution.kernel_size)
        return scale_residual_sum(self.convolution(padded) + self.skip(x.data))


def divide_gradient(x: Tensor, divisor: int) -> Tensor:
    """Return x; its gradient is divided."""
    constant = x.detach()
    return constant + (x - constant) / divisor


class ConvS2SDecoder(nn.Module):
    """Gated convolutions over the steps so far, with an attention in every layer (sections 3.2 and 3.3):

    u^0 = W g                                       g: the target embeddings, with positions
    h = v(K^l [u^{l-1}_{i-k+1}; ...; u^{l-1}_i])
    d = (W_d h + b_d + g) sqrt(1/2),   a = softmax(d·z),   c = sqrt(S) sum_j a_j value_j     S: length without padding
    u^l = ((h + W_c c) sqrt(1/2) + u^{l-1}) sqrt(1/2)
    The head reads V u^L, which is as wide as an embedding.

    The residual goes around the attention, as in the authors' program; m sqrt(1/m) of section 3.4 is sqrt(S).
    `layers` of width `dim` and `kernel_size`, then `upper_layers`.

    State: memory = the prepared memory, the same for all layers; carry = the last k - 1 inputs of each layer. The
    returned attention is the mean over the layers.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        layers: PositiveInt = 3,
        dim: PositiveInt = 256,
        kernel_size: PositiveInt = 3,
        upper_layers: tuple[ConvLayerGroup, ...] = (),
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        sizes = [*conv_layer_sizes((ConvLayerGroup(layers=layers, dim=dim, kernel_size=kernel_size), *upper_layers))]
        require_memory(memory, len(sizes))
        if memory.keys != input_dim:
            raise ValueError(
                f"attends with queries as wide as the target embedding, {input_dim}, but the encoder returns vectors "
                f"of width {memory.keys}: make the two equal"
            )
        self.dim = input_dim
        self.input_map = WeightNormLinear(input_dim, dim)
        self.attention = CrossAttention(input_dim, memory, score=DotScore)
        self.layers = module_list(ConvS2SDecoderLayer(size, input_dim, memory.values, dropout) for size in sizes)
        self.output_map = WeightNormLinear(sizes[-1].dim, input_dim)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        scale = memory.padded().lengths().to(memory.values.dtype).sqrt()[:, None, None]
        prepared = self.attention.prepare(memory._replace(values=memory.values * scale))
        return State(prepared, tuple(layer.start(memory.keys) for layer in self.layers))

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        u, attentions, carry = self.input_map(x), [], []
        for number, (layer, past) in enumerate(zip(self.layers, cast(tuple[Tensor, ...], state.carry), strict=True)):
            h, after = layer.convolve(u, past)
            query = scale_residual_sum(layer.query(h) + x)
            context, weights, _ = self.attention(query, cast(PreparedMemory, state.memory), ())
            tracing.record_tensor(f"decoder.{number}.cross_attention", weights)
            u = scale_residual_sum(scale_residual_sum(h + layer.context(context)) + layer.skip(u))
            attentions.append(weights[:, 0])
            carry.append(after)
        hidden = self.dropout(self.output_map(u))
        return DecoderOutput(hidden, torch.stack(attentions).mean(0)), State(state.memory, tuple(carry))


class ConvS2SDecoderLayer(nn.Module):
    """The weights of one layer; the attention has none."""

    def __init__(self, sizes: ConvLayerSizes, query_dim: int, value_dim: int, dropout: float):
        super().__init__()
        self.input_dim = sizes.input_dim
        self.convolution = GatedConvolution(sizes.input_dim, sizes.dim, kernel_size=sizes.kernel_size, dropout=dropout)
        self.query = WeightNormLinear(sizes.dim, query_dim)  # W_d
        self.context = WeightNormLinear(value_dim, sizes.dim)  # W_c
        self.skip = skip_projection(sizes)
        self.dropout = Dropout(dropout)

    def start(self, like: Tensor) -> Tensor:
        """Return k - 1 zero inputs for each row of `like`."""
        return like.new_zeros(len(like), self.convolution.kernel_size - 1, self.input_dim)

    def convolve(self, u: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """The next inputs u [N,T,I] and the k - 1 before them -> h [N,T,D], and the last k - 1 inputs."""
        inputs = torch.cat([past, self.dropout(u)], 1)
        return self.convolution(inputs), inputs[:, u.shape[1] :]
