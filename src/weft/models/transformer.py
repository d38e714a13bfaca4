"""The Transformer's encoder and decoder. Vaswani et al. 2017, section 3.1."""

from typing import cast

from torch import Tensor, nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import PositiveInt, Rate
from weft.core.state import State, TensorTree
from weft.models.interfaces import (
    DecoderOutput,
    require_attention_layers,
    require_source_embedding,
    require_target_embedding,
)
from weft.nn.attention import CrossAttention, PreparedMemory
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import (
    FeedForward,
    FeedForwardActivation,
    NormPlacement,
    ResidualConnection,
    module_list,
    xavier_init,
)
from weft.nn.self_attention import KeyValueCache, SelfAttention


class TransformerEncoder(nn.Module):
    """Layers of self-attention and a feed-forward network; the width is that of the embedding.

    attention_window: the number of positions on each side that a position attends to (null: all).
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: PositiveInt = 6,
        heads: PositiveInt = 8,
        ffn_dim: PositiveInt = 2048,
        norm: NormPlacement = "pre",
        activation: FeedForwardActivation = "relu",
        rotary: bool = False,
        attention_window: PositiveInt | None = None,
        dropout: Rate = 0.1,
        attention_dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source_embedding(input_dim)
        self.sizes = MemorySizes(input_dim, input_dim)
        self.layers = module_list(
            TransformerEncoderLayer(
                input_dim,
                SelfAttention(
                    input_dim, heads=heads, rotary=rotary, window=attention_window, dropout=attention_dropout
                ),
                FeedForward(input_dim, ffn_dim=ffn_dim, activation=activation, dropout=dropout),
                norm,
                dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(input_dim) if norm == "pre" else nn.Identity()
        xavier_init(self)

    def forward(self, x: Padded) -> Memory:
        bias = x.bias(x.data.dtype)[:, None, None, :]
        y = x.data
        for number, layer in enumerate(self.layers):
            y, weights = layer(y, bias)
            if weights is not None:
                tracing.record_tensor(f"encoder.{number}.self_attention", weights)
        y = self.norm(y)
        return Memory(y, y, x.mask)


class TransformerEncoderLayer(nn.Module):
    """Self-attention and the feed-forward network, each with a residual connection."""

    def __init__(
        self, dim: int, self_attention: SelfAttention, feedforward: FeedForward, norm: NormPlacement, dropout: float
    ):
        super().__init__()
        self.self_attention = self_attention
        self.feedforward = feedforward
        self.self_attention_residual = ResidualConnection(dim, norm=norm, dropout=dropout)
        self.feedforward_residual = ResidualConnection(dim, norm=norm, dropout=dropout)

    def forward(self, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the next layer's input and the attention weights [N,H,T,T], if there are any."""
        y, weights = self.self_attention(self.self_attention_residual.prepare(x), bias)
        x = self.self_attention_residual.add(x, y)
        return self.feedforward_residual.add(x, self.feedforward(self.feedforward_residual.prepare(x))), weights


class TransformerDecoder(nn.Module):
    """Layers of causal self-attention, cross-attention to the memory, and a feed-forward network.

    If the memory has width 0 there is no cross-attention, and the decoder is a language model (Liu et al. 2018).
    attention_window: the number of earlier steps that a step attends to besides itself (null: all).

    State: memory = each layer's prepared keys and values; carry = each layer's cache of the keys and values so far, at
    most `attention_window` of them. The returned attention is that of the last layer, averaged over its heads.
    """

    def __init__(
        self,
        input_dim: int,
        memory: MemorySizes,
        *,
        layers: PositiveInt = 6,
        heads: PositiveInt = 8,
        ffn_dim: PositiveInt = 2048,
        norm: NormPlacement = "pre",
        activation: FeedForwardActivation = "relu",
        rotary: bool = False,
        attention_window: PositiveInt | None = None,
        dropout: Rate = 0.1,
        attention_dropout: Rate = 0.0,
    ):
        super().__init__()
        require_target_embedding(input_dim)
        require_attention_layers(memory, layers)
        self.dim = input_dim
        self.layers = module_list(
            TransformerDecoderLayer(
                input_dim,
                SelfAttention(
                    input_dim, heads=heads, rotary=rotary, window=attention_window, dropout=attention_dropout
                ),
                CrossAttention(input_dim, memory, heads=heads, projected=True, dim=input_dim, dropout=attention_dropout)
                if memory.keys
                else None,
                FeedForward(input_dim, ffn_dim=ffn_dim, activation=activation, dropout=dropout),
                norm,
                dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(input_dim) if norm == "pre" else nn.Identity()
        xavier_init(self)

    def start(self, memory: Memory) -> State:
        prepared = tuple(layer.prepare(memory) for layer in self.layers)
        return State(prepared, tuple(layer.self_attention.start(memory.keys) for layer in self.layers))

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        carry: list[KeyValueCache] = []
        for number, (layer, prepared, cache) in enumerate(zip(self.layers, state.memory, state.carry, strict=True)):
            x, own_weights, cross_weights, extended = layer(x, prepared, cache)
            tracing.record_tensor(f"decoder.{number}.self_attention", own_weights)
            if cross_weights is not None:
                tracing.record_tensor(f"decoder.{number}.cross_attention", cross_weights)
            carry.append(extended)
        attention = None if cross_weights is None else cross_weights.mean(1)
        return DecoderOutput(self.norm(x), attention), State(state.memory, tuple(carry))


class TransformerDecoderLayer(nn.Module):
    """Causal self-attention, cross-attention if there is a memory, the feed-forward network, each with a residual."""

    def __init__(
        self,
        dim: int,
        self_attention: SelfAttention,
        cross_attention: CrossAttention | None,
        feedforward: FeedForward,
        norm: NormPlacement,
        dropout: float,
    ):
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feedforward = feedforward
        self.self_attention_residual = ResidualConnection(dim, norm=norm, dropout=dropout)
        self.cross_attention_residual = ResidualConnection(dim, norm=norm, dropout=dropout) if cross_attention else None
        self.feedforward_residual = ResidualConnection(dim, norm=norm, dropout=dropout)

    def prepare(self, memory: Memory) -> TensorTree:
        return () if self.cross_attention is None else self.cross_attention.prepare(memory)

    def forward(
        self, x: Tensor, prepared: TensorTree, cache: KeyValueCache
    ) -> tuple[Tensor, Tensor, Tensor | None, KeyValueCache]:
        """Return the next layer's input, the weights over the steps so far and over the memory, and the cache."""
        y, own_weights, extended = self.self_attention.extend(self.self_attention_residual.prepare(x), cache)
        x, cross_weights = self.self_attention_residual.add(x, y), None
        if self.cross_attention is not None and self.cross_attention_residual is not None:
            query = self.cross_attention_residual.prepare(x)
            y, cross_weights, _ = self.cross_attention(query, cast(PreparedMemory, prepared), ())
            x = self.cross_attention_residual.add(x, y)
        x = self.feedforward_residual.add(x, self.feedforward(self.feedforward_residual.prepare(x)))
        return x, own_weights, cross_weights, extended
