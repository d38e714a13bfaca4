"""The decoder of convolutional sequence-to-sequence learning. Gehring et al. 2017."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.state import State
from weft.core.types import Count, Rate
from weft.model.roles import Output
from weft.model.source import require_memory
from weft.model.target import require_tokens
from weft.nn.attention import Attention, Prepared
from weft.nn.convolution import Blocks, GatedConvolution, Shape, balanced, shapes, skip
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.scores import Dot
from weft.nn.stack import stack
from weft.nn.weight_norm import NormedLinear


class ConvS2SDecoder(nn.Module):
    """Gated convolutions over the steps so far, with an attention in every layer (sections 3.2 and 3.3):

    u^0 = W g                                       g: the embeddings of the target, of words and of positions
    h = v(K^l [u^{l-1}_{i-k+1}; ...; u^{l-1}_i])
    d = (W_d h + b_d + g) sqrt(1/2),   a = softmax(d·z),   c = sqrt(S) sum_j a_j value_j     S: the real length
    u^l = ((h + W_c c) sqrt(1/2) + u^{l-1}) sqrt(1/2)
    The head reads V u^L, which is as wide as an embedding.

    The residual goes around the attention, as in the authors' program; m sqrt(1/m) of section 3.4 is sqrt(S).
    `layers` of width `dim` over `kernel` steps each, then those of `above`.

    State: memory = the prepared annotations, the same for all layers; carry = the last k - 1 inputs of each layer. The
    attention given out is the mean of the layers'.
    """

    def __init__(
        self,
        input_dim: int,
        memory: Sizes,
        *,
        layers: Count = 3,
        dim: Count = 256,
        kernel: Count = 3,
        above: tuple[Blocks, ...] = (),
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_tokens(input_dim)
        made = [*shapes((Blocks(layers=layers, dim=dim, kernel=kernel), *above))]
        require_memory(memory, len(made))
        if memory.keys != input_dim:
            raise ValueError(
                f"asks with vectors as wide as the target embedding, {input_dim}, but the encoder leaves vectors of "
                f"width {memory.keys}: make the two equal"
            )
        self.dim = input_dim
        self.enter = NormedLinear(input_dim, dim)
        self.attention = Attention(input_dim, memory, score=Dot)
        self.layers = stack(Layer(shape, input_dim, memory.values, dropout) for shape in made)
        self.leave = NormedLinear(made[-1].dim, input_dim)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> State:
        scale = memory.padded().lengths().to(memory.values.dtype).sqrt()[:, None, None]
        prepared = self.attention.prepare(memory._replace(values=memory.values * scale))
        return State(prepared, tuple(layer.start(memory.keys) for layer in self.layers))

    def forward(self, x: Tensor, state: State) -> tuple[Output, State]:
        u, looks, carry = self.enter(x), [], []
        for number, (layer, past) in enumerate(zip(self.layers, cast(tuple[Tensor, ...], state.carry), strict=True)):
            h, after = layer.convolve(u, past)
            context, weights, _ = self.attention(layer.ask(h, x), cast(Prepared, state.memory), ())
            watch.note(f"decoder.{number}.across", weights)
            u = layer.combine(u, h, context)
            looks.append(weights[:, 0])
            carry.append(after)
        hidden = self.dropout(self.leave(u))
        return Output(hidden, torch.stack(looks).mean(0)), State(state.memory, tuple(carry))


class Layer(nn.Module):
    """What one layer has of its own; the attention between `ask` and `combine` has no weights."""

    def __init__(self, shape: Shape, query_dim: int, value_dim: int, dropout: float):
        super().__init__()
        self.input_dim = shape.input_dim
        self.convolution = GatedConvolution(shape.input_dim, shape.dim, kernel=shape.kernel, dropped=dropout)
        self.query = NormedLinear(shape.dim, query_dim)  # W_d
        self.context = NormedLinear(value_dim, shape.dim)  # W_c
        self.skip = skip(shape)
        self.dropout = Dropout(dropout)

    def start(self, like: Tensor) -> Tensor:
        """Before the first input: k - 1 zeros, a row for each row of `like`."""
        return like.new_zeros(len(like), self.convolution.kernel - 1, self.input_dim)

    def convolve(self, u: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """The next inputs u [N,T,I] after the last k - 1 -> h [N,T,D], and the last k - 1 after them."""
        inputs = torch.cat([past, self.dropout(u)], 1)
        return self.convolution(inputs), inputs[:, u.shape[1] :]

    def ask(self, h: Tensor, embedded: Tensor) -> Tensor:
        return balanced(self.query(h) + embedded)

    def combine(self, u: Tensor, h: Tensor, context: Tensor) -> Tensor:
        return balanced(balanced(h + self.context(context)) + self.skip(u))
