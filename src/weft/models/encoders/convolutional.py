"""A convolutional encoder for any decoder. Gehring et al. 2016."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.setting_types import NonNegativeInt, PositiveInt, Rate
from weft.models.interfaces import require_source_embedding
from weft.nn.convolution import pad_centered, sliding_windows
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list, xavier_init

ConvActivation = Literal["tanh", "relu", "gated"]
ACTIVATIONS: dict[ConvActivation, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": F.relu, "gated": F.glu}


class ConvolutionalEncoder(nn.Module):
    """h^l = [f(K_1 * h^{l-1}); f(K_2 * h^{l-1}); ...] + h^{l-1}, with a convolution K for each of the `kernel_sizes`.

    f: tanh, relu, or gated: A sigmoid(B). Each kernel size fills an equal share of `dim`. The residual is added where
    the widths are equal.
    value_layers: the values get this many layers of their own (CNN-c and CNN-a in the paper); 0: the values are the
    keys. Word order is seen through the windows alone, so the embedding should have positions.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        layers: PositiveInt = 4,
        dim: PositiveInt = 256,
        kernel_sizes: tuple[PositiveInt, ...] = (3,),
        activation: ConvActivation = "tanh",
        residual: bool = True,
        value_layers: NonNegativeInt = 0,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source_embedding(input_dim)
        if not kernel_sizes or dim % len(kernel_sizes):
            raise ValueError(
                f"kernel_sizes: {len(kernel_sizes)} are given; give as many as divide the dim of {dim}, such as [3] "
                "or [1, 3]"
            )
        self.sizes = MemorySizes(dim, dim)
        make = partial(ConvTower, input_dim, dim, kernel_sizes, activation, residual=residual, dropout=dropout)
        self.keys = make(layers=layers)
        self.values = make(layers=value_layers) if value_layers else None
        xavier_init(self)

    def forward(self, x: Padded) -> Memory:
        keys = self.keys(x)
        return Memory(keys, keys if self.values is None else self.values(x), x.mask)


class ConvTower(nn.Module):
    """A stack of layers with residual connections where the widths are equal."""

    def __init__(
        self,
        input_dim: int,
        dim: int,
        kernel_sizes: tuple[int, ...],
        activation: ConvActivation,
        *,
        layers: int,
        residual: bool,
        dropout: float,
    ):
        super().__init__()
        self.layers = module_list(
            MultiWidthConvLayer(dim if number else input_dim, dim, kernel_sizes, activation) for number in range(layers)
        )
        self.residual = residual
        self.dropout = Dropout(dropout)

    def forward(self, x: Padded) -> Tensor:
        for layer in self.layers:
            y = layer(x.with_data(self.dropout(x.data)))
            x = x.with_data(x.data + y if self.residual and y.shape == x.data.shape else y)
        return x.data


class MultiWidthConvLayer(nn.Module):
    """The concatenated outputs of a convolution for each kernel size."""

    def __init__(self, input_dim: int, dim: int, kernel_sizes: tuple[int, ...], activation: ConvActivation):
        super().__init__()
        self.kernel_sizes, self.activate = kernel_sizes, ACTIVATIONS[activation]
        rows = (2 if activation == "gated" else 1) * (dim // len(kernel_sizes))
        self.convolutions = module_list(nn.Linear(size * input_dim, rows) for size in kernel_sizes)

    def forward(self, x: Padded) -> Tensor:
        outputs = [
            self.activate(convolution(sliding_windows(pad_centered(x, size), size)))
            for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True)
        ]
        return torch.cat(outputs, -1)
