"""The encoder of pictures: convolutions that see what strokes and letters are made of."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.types import Count, Rate
from weft.core.wide import wide
from weft.model.source import require_vectors
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.stack import stack

WIDEST = 8  # times the filters of the first layer
FAINT = 0.01  # the variance of the channels below which a pixel is taken for paper that is not quite white


class PictureEncoder(nn.Module):
    """x_{l+1} = relu(norm(W_l * x_l)), layer upon layer; then all channels of a column become a vector.

    The convolutional part of a CRNN (Shi et al. 2017), small. W_l are 3 x 3 filters: `filters` of them in the first
    layer, twice as many in each further one, up to eight times. Every layer halves the height by applying them to every
    other row (Springenberg et al. 2015; pooling costs several times as much); the first ones halve the width too, until
    `shrink` columns have become one. The channels of each pixel are normalised (Ba et al. 2016), so that neither other
    pictures nor the padding has a say. Since there is no bias before that, paper is 0 in every layer at first, and what
    a model sees is the ink.

    The picture is a sequence of columns [B,T,H], the memory one of ceil(T / shrink) vectors.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: Count = 4,
        filters: Count = 16,
        shrink: Literal[1, 2, 4] = 2,
        dim: Count = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_vectors(input_dim)
        if shrink > 2**layers:
            raise ValueError(
                f"shrink: {shrink} needs more than {layers} layers, each of which halves the width at most"
            )
        made: list[Layer] = []
        height, left = input_dim, int(shrink)
        for number in range(layers):
            channels = filters * min(2**number, WIDEST)
            made.append(Layer(made[-1].channels if made else 1, channels, shrink=min(left, 2)))
            height, left = -(-height // 2), max(left // 2, 1)
        self.layers = stack(made)
        self.project = nn.Linear(height * made[-1].channels, dim)
        self.dropout = Dropout(dropout)
        self.sizes = Sizes(dim, dim)

    def forward(self, x: Padded) -> Memory:
        picture, mask = x.data[:, None] * x.mask[:, None, :, None], x.mask  # [B,1,T,H]
        for layer in self.layers:
            mask = shortened(mask, layer.shrink)
            picture = layer(picture, mask)
        columns = picture.permute(0, 2, 3, 1).flatten(2)  # [B,T',H'C]
        vectors = self.dropout(self.project(columns))
        return Memory(vectors, vectors, mask)


class Layer(nn.Module):
    """A convolution around every other row and every `shrink`-th column, and a normalisation."""

    def __init__(self, inputs: int, channels: int, *, shrink: int):
        super().__init__()
        self.channels = channels
        self.shrink = shrink
        self.convolution = nn.Conv2d(inputs, channels, 3, stride=(shrink, 2), padding=1, bias=False)
        self.norm = nn.LayerNorm(channels, eps=FAINT)

    def forward(self, picture: Tensor, mask: Tensor) -> Tensor:
        """picture [B,C,T,H], zero in the padding -> [B,C',T',H'], zero in the padding again (`mask` [B,T'])."""
        filters = wide(self.convolution.weight)  # on a CPU gradients in bfloat16 are of memory that nobody wrote
        found = F.conv2d(wide(picture), filters, stride=(self.shrink, 2), padding=1).to(picture.dtype)
        pixels = found.permute(0, 2, 3, 1)  # [B,T',H',C']
        pixels = F.relu(self.norm(pixels)) * mask[:, :, None, None]
        return pixels.permute(0, 3, 1, 2)


def shortened(mask: Tensor, shrink: int) -> Tensor:
    """The mask [B,T] when `shrink` positions have become one: real, where the first of them is real."""
    return mask[:, ::shrink]
