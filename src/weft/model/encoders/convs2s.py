"""The encoder of convolutional sequence-to-sequence learning. Gehring et al. 2017."""

from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.types import Count, Rate
from weft.model.source import require_vectors
from weft.nn.convolution import Blocks, GatedConvolution, Shape, balanced, centred, shapes, skip
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.stack import stack
from weft.nn.weight_norm import NormedLinear


class ConvS2SEncoder(nn.Module):
    """Gated convolutions between two linear maps (section 3.2); e are the embeddings, of words and of positions:

    h^0 = W e,   h^l = (v(K^l [h^{l-1}_{i-k/2}; ...; h^{l-1}_{i+k/2}]) + h^{l-1}) sqrt(1/2),   z = V h^L
    keys: z,  values: (z + e) sqrt(1/2)

    `layers` of width `dim` over `kernel` neighbours each, then those of `above`. The gradient of z is divided by
    `attentions`, the number of decoder layers that look at the memory; that of e is not (section 3.4).
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: Count = 4,
        dim: Count = 256,
        kernel: Count = 3,
        above: tuple[Blocks, ...] = (),
        attentions: Count = 1,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_vectors(input_dim)
        self.sizes = Sizes(input_dim, input_dim, attentions=attentions)
        self.attentions = attentions
        made = [*shapes((Blocks(layers=layers, dim=dim, kernel=kernel), *above))]
        self.enter = NormedLinear(input_dim, dim)
        self.layers = stack(Layer(shape, dropout) for shape in made)
        self.leave = NormedLinear(made[-1].dim, input_dim)

    def forward(self, x: Padded) -> Memory:
        h = self.enter(x.data)
        for layer in self.layers:
            h = layer(x.with_data(h))
        z = divided_gradient(self.leave(h), self.attentions)
        return Memory(z, balanced(z + x.data), x.mask)


class Layer(nn.Module):
    """A gated convolution around each position, in its residual."""

    def __init__(self, shape: Shape, dropout: float):
        super().__init__()
        self.convolution = GatedConvolution(shape.input_dim, shape.dim, kernel=shape.kernel, dropped=dropout)
        self.skip = skip(shape)
        self.dropout = Dropout(dropout)

    def forward(self, x: Padded) -> Tensor:
        around = centred(x.with_data(self.dropout(x.data)), self.convolution.kernel)
        return balanced(self.convolution(around) + self.skip(x.data))


def divided_gradient(x: Tensor, divisor: int) -> Tensor:
    """x itself; its gradient arrives divided."""
    constant = x.detach()
    return constant + (x - constant) / divisor
