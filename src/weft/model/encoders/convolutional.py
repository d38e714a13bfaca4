"""A convolutional encoder for decoders of any kind. Gehring et al. 2016."""

from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.types import Count, Rate, Whole
from weft.model.source import require_vectors
from weft.nn.convolution import centred, windows
from weft.nn.dropout import Dropout
from weft.nn.initial import xavier
from weft.nn.memory import Memory, Sizes
from weft.nn.stack import stack

Activation = Literal["tanh", "relu", "gated"]


class Convolutional(nn.Module):
    """h^l = [f(K_1 * h^{l-1}); f(K_2 * h^{l-1}); ...] + h^{l-1}: convolutions of several `widths`, side by side.

    f: tanh, relu, or gated: A sigmoid(B). Each width fills an equal share of `dim`. The residual sum is made wherever
    both have one width.
    value_layers: the values come from so many layers of their own, beside those of the keys (CNN-c beside CNN-a in the
    paper); 0: the values are the keys. Word order is seen through the windows alone, so give the embedding positions.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: Count = 4,
        dim: Count = 256,
        widths: tuple[Count, ...] = (3,),
        activation: Activation = "tanh",
        residual: bool = True,
        value_layers: Whole = 0,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_vectors(input_dim)
        if not widths or dim % len(widths):
            wanted = f"as many as divide the dim of {dim}, such as [3] or [1, 3]"
            raise ValueError(f"widths: {len(widths)} are given; give {wanted}")
        self.sizes = Sizes(dim, dim)
        tower = partial(Tower, Shape(input_dim, dim, widths), activation, residual=residual, dropout=dropout)
        self.keys = tower(layers=layers)
        self.values = tower(layers=value_layers) if value_layers else None
        xavier(self)

    def forward(self, x: Padded) -> Memory:
        keys = self.keys(x)
        return Memory(keys, keys if self.values is None else self.values(x), x.mask)


class Shape(NamedTuple):
    """The sizes of a tower of layers: of what the lowest reads, of what each gives, of the windows."""

    input_dim: int
    dim: int
    widths: tuple[int, ...]


class Tower(nn.Module):
    """Layers one upon the other, each in its residual where it can be."""

    def __init__(self, shape: Shape, activation: Activation, *, layers: int, residual: bool, dropout: float):
        super().__init__()
        inner = shape._replace(input_dim=shape.dim)
        self.layers = stack(Layer(inner if number else shape, activation) for number in range(layers))
        self.residual = residual
        self.dropout = Dropout(dropout)

    def forward(self, x: Padded) -> Tensor:
        for layer in self.layers:
            y = layer(x.with_data(self.dropout(x.data)))
            x = x.with_data(x.data + y if self.residual and y.shape == x.data.shape else y)
        return x.data


class Layer(nn.Module):
    """A convolution of each width, the results side by side."""

    def __init__(self, shape: Shape, activation: Activation):
        super().__init__()
        self.widths, self.activation = shape.widths, activation
        share = shape.dim // len(shape.widths)
        rows = 2 * share if activation == "gated" else share
        self.convolutions = stack(nn.Linear(width * shape.input_dim, rows) for width in shape.widths)

    def forward(self, x: Padded) -> Tensor:
        found = [
            self._activated(convolution(windows(centred(x, width), width)))
            for width, convolution in zip(self.widths, self.convolutions, strict=True)
        ]
        return torch.cat(found, -1)

    def _activated(self, y: Tensor) -> Tensor:
        match self.activation:
            case "tanh":
                return torch.tanh(y)
            case "relu":
                return F.relu(y)
            case "gated":
                return F.glu(y, -1)
