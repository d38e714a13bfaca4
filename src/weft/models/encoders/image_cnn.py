"""Convolutional encoder for images of text lines: the convolutional part of a CRNN (Shi et al. 2017)."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded, upcast
from weft.core.setting_types import PositiveInt, Rate
from weft.models.interfaces import require_source_embedding
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list

MAX_CHANNEL_FACTOR = 8  # times the channels of the first layer
NORM_EPSILON = 0.01  # variance of the channels below which a pixel counts as paper that is not quite white


class ImageEncoder(nn.Module):
    """x_{l+1} = relu(norm(W_l * x_l)) for each layer; then a linear map of all channels of a column to a vector.

    A small version of the convolutions of a CRNN (Shi et al. 2017). W_l are 3 x 3 filters: `channels` of them in the
    first layer, twice as many in each further one, up to eight times. Every layer halves the height with a stride of 2
    (Springenberg et al. 2015; pooling costs several times as much); the first ones halve the width too, until
    `subsampling` columns have become one. The channels of each pixel are normalized (Ba et al. 2016), so that neither
    other images nor the padding matter. There is no bias before that, so paper is initially 0 in every layer.

    The image is a sequence of columns [B,T,H], the memory one of ceil(T / subsampling) vectors.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: PositiveInt = 4,
        channels: PositiveInt = 16,
        subsampling: Literal[1, 2, 4] = 2,
        dim: PositiveInt = 256,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source_embedding(input_dim)
        if subsampling > 2**layers:
            raise ValueError(
                f"subsampling: {subsampling} needs more than {layers} layers, each of which halves the width at most"
            )
        parts: list[ImageConvLayer] = []
        height, remaining = input_dim, int(subsampling)
        for number in range(layers):
            layer_channels = channels * min(2**number, MAX_CHANNEL_FACTOR)
            parts.append(ImageConvLayer(parts[-1].channels if parts else 1, layer_channels, stride=min(remaining, 2)))
            height, remaining = -(-height // 2), max(remaining // 2, 1)
        self.layers = module_list(parts)
        self.project = nn.Linear(height * parts[-1].channels, dim)
        self.dropout = Dropout(dropout)
        self.sizes = MemorySizes(dim, dim)

    def forward(self, x: Padded) -> Memory:
        image, mask = x.data[:, None] * x.mask[:, None, :, None], x.mask  # [B,1,T,H]
        for layer in self.layers:
            mask = mask[:, :: layer.stride]  # [B,T']: real where the first of `stride` columns is
            image = layer(image, mask)
        columns = image.permute(0, 2, 3, 1).flatten(2)  # [B,T',H'C]
        vectors = self.dropout(self.project(columns))
        return Memory(vectors, vectors, mask)


class ImageConvLayer(nn.Module):
    """A convolution with stride 2 in height and `stride` in width, normalization and ReLU."""

    def __init__(self, input_channels: int, channels: int, *, stride: int):
        super().__init__()
        self.channels = channels
        self.stride = stride
        self.convolution = nn.Conv2d(input_channels, channels, 3, stride=(stride, 2), padding=1, bias=False)
        self.norm = nn.LayerNorm(channels, eps=NORM_EPSILON)

    def forward(self, image: Tensor, mask: Tensor) -> Tensor:
        """image [B,C,T,H], zero in the padding -> [B,C',T',H'], zero in the padding again (`mask` [B,T'])."""
        weight = upcast(self.convolution.weight)  # on a CPU, bfloat16 gradients read uninitialized memory
        convolved = F.conv2d(upcast(image), weight, stride=(self.stride, 2), padding=1).to(image.dtype)
        pixels = convolved.permute(0, 2, 3, 1)  # [B,T',H',C']
        pixels = F.relu(self.norm(pixels)) * mask[:, :, None, None]
        return pixels.permute(0, 3, 1, 2)
