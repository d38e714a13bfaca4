"""The Transformer's decoder. Vaswani et al. 2017, section 3.1."""

from typing import NamedTuple, cast

from torch import Tensor, nn

from weft.core import watch
from weft.core.state import State
from weft.core.tree import Tree
from weft.core.types import Count, Rate
from weft.model.roles import Output
from weft.model.source import require_divisor
from weft.model.target import require_tokens
from weft.nn.attention import Attention, Cache, Prepared, SelfAttention
from weft.nn.feedforward import Activation, FeedForward
from weft.nn.initial import xavier
from weft.nn.memory import Memory, Sizes
from weft.nn.residual import Norm, Residual
from weft.nn.stack import stack


class TransformerDecoder(nn.Module):
    """Layers of causal self-attention, attention to the memory, and a position-wise network.

    Where the memory has no width there is no attention to it, and the decoder is a language model (Liu et al. 2018).

    reach: how many of the steps before it a step sees beside itself; none: all.

    State: memory = each layer's prepared keys and values; carry = each layer's keys and values so far, of which no more
    are kept than the reach. The attention given out is the last layer's, the mean of its heads.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        layers: Count = 6,
        heads: Count = 8,
        hidden: Count = 2048,
        norm: Norm = "pre",
        activation: Activation = "relu",
        rotary: bool = False,
        reach: Count | None = None,
        dropout: Rate = 0.1,
        attention_dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        require_divisor(memory, layers)
        self.dim = input_dim
        self.layers = stack(
            Layer(
                input_dim,
                SelfAttention(input_dim, heads=heads, rotary=rotary, reach=reach, dropout=attention_dropout),
                Attention(input_dim, memory, heads=heads, projected=True, dim=input_dim, dropout=attention_dropout)
                if memory.keys
                else None,
                FeedForward(input_dim, hidden=hidden, activation=activation, dropout=dropout),
                norm,
                dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(input_dim) if norm == "pre" else nn.Identity()
        xavier(self)

    def start(self, memory: Memory) -> State:
        prepared = tuple(layer.prepare(memory) for layer in self.layers)
        return State(prepared, tuple(layer.attention.start(memory.keys) for layer in self.layers))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        carry: list[Cache] = []
        for number, (layer, prepared, cache) in enumerate(zip(self.layers, state.memory, state.carry, strict=True)):
            x, looks, extended = layer(x, prepared, cache)
            watch.note(f"decoder.{number}.self", looks.back)
            if looks.across is not None:
                watch.note(f"decoder.{number}.across", looks.across)
            carry.append(extended)
        attention = None if looks.across is None else looks.across.mean(1)
        return Output(self.norm(x), attention), State(state.memory, tuple(carry))


class Looks(NamedTuple):
    """Where each step looked: back at the steps so far [N,H,T,T], across to the memory [N,H,T,S] if there is one."""

    back: Tensor
    across: Tensor | None


class Layer(nn.Module):
    """Causal self-attention, attention across to the memory if there is one, the position-wise network, each in its
    residual.
    """

    def __init__(
        self,
        dim: int,
        attention: SelfAttention,
        across: Attention | None,
        feedforward: FeedForward,
        norm: Norm,
        dropout: float,
    ):
        super().__init__()
        self.attention = attention
        self.across = across
        self.feedforward = feedforward
        self.around_attention = Residual(dim, norm=norm, dropout=dropout)
        self.around_across = Residual(dim, norm=norm, dropout=dropout) if across else None
        self.around_feedforward = Residual(dim, norm=norm, dropout=dropout)

    def prepare(self, memory: Memory) -> Tree:
        return () if self.across is None else self.across.prepare(memory)

    def forward(self, x: Tensor, prepared: Tree, cache: Cache) -> tuple[Tensor, Looks, Cache]:
        y, back, extended = self.attention.extend(self.around_attention.enter(x), cache)
        x, across = self._look_across(self.around_attention.leave(x, y), prepared)
        x = self.around_feedforward.leave(x, self.feedforward(self.around_feedforward.enter(x)))
        return x, Looks(back, across), extended

    def _look_across(self, x: Tensor, prepared: Tree) -> tuple[Tensor, Tensor | None]:
        if self.across is None or self.around_across is None:
            return x, None
        y, weights, _ = self.across(self.around_across.enter(x), cast(Prepared, prepared), ())
        return self.around_across.leave(x, y), weights
