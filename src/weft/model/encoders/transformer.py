"""The Transformer's encoder. Vaswani et al. 2017, section 3.1."""

from torch import Tensor, nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.types import Count, Rate
from weft.model.source import require_vectors
from weft.nn.attention import SelfAttention
from weft.nn.feedforward import Activation, FeedForward
from weft.nn.initial import xavier
from weft.nn.memory import Memory, Sizes
from weft.nn.residual import Norm, Residual
from weft.nn.stack import stack


class TransformerEncoder(nn.Module):
    """Layers of self-attention and a position-wise network; the width is the embedding's.

    reach: how many positions to each side are seen; none: all.
    """

    def __init__(
        self,
        input_dim: int,
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
        require_vectors(input_dim)
        self.sizes = Sizes(input_dim, input_dim)
        self.layers = stack(
            Layer(
                input_dim,
                SelfAttention(input_dim, heads=heads, rotary=rotary, reach=reach, dropout=attention_dropout),
                FeedForward(input_dim, hidden=hidden, activation=activation, dropout=dropout),
                norm,
                dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(input_dim) if norm == "pre" else nn.Identity()
        xavier(self)

    def forward(self, x: Padded) -> Memory:
        bias = x.bias(x.data.dtype)[:, None, None, :]
        y = x.data
        for number, layer in enumerate(self.layers):
            y, weights = layer(y, bias)
            if weights is not None:
                watch.note(f"encoder.{number}.self", weights)
        y = self.norm(y)
        return Memory(y, y, x.mask)


class Layer(nn.Module):
    """Self-attention, then the position-wise network, each in its residual."""

    def __init__(self, dim: int, attention: SelfAttention, feedforward: FeedForward, norm: Norm, dropout: float):
        super().__init__()
        self.attention = attention
        self.feedforward = feedforward
        self.around_attention = Residual(dim, norm=norm, dropout=dropout)
        self.around_feedforward = Residual(dim, norm=norm, dropout=dropout)

    def forward(self, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor | None]:
        """The next layer's input, and where each position looked [N,H,T,T], if the attention tells."""
        y, weights = self.attention(self.around_attention.enter(x), bias)
        x = self.around_attention.leave(x, y)
        return self.around_feedforward.leave(x, self.feedforward(self.around_feedforward.enter(x))), weights
