"""The timed layers, each with its complexity in table 1 of Vaswani et al. 2017.

n is the sequence length, d the width, r the window of restricted attention, k the kernel width. Every layer maps
[B,n,d] to [B,n,d].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.state import TensorTree
from weft.nn.cells.cell import run_stepwise, zero_states
from weft.nn.cells.lstm import LSTMCell
from weft.nn.convolution import GatedConvolution, pad_centered
from weft.nn.self_attention import SelfAttention

HEAD = 64  # width of a head, as published: a wider layer has more heads
WINDOW = 16  # positions to either side
KERNEL = 3

Run: TypeAlias = Callable[[LSTMCell, Padded, TensorTree], tuple[Padded, TensorTree]]


class Powers(NamedTuple):
    """time ~ n^length d^width."""

    length: float
    width: float


class Kind(NamedTuple):
    """A kind of layer."""

    name: str
    order: str  # operations per layer, as published
    powers: Powers  # exponents of that order, with constant r and k
    sequential: str  # sequential operations
    path: str  # maximum path length
    make: Callable[[int], nn.Module]  # by width


class AttentionLayer(nn.Module):
    """Multi-head self-attention with its projections, over all positions or those at most `window` away."""

    def __init__(self, dim: int, *, window: int | None = None):
        super().__init__()
        self.attention = SelfAttention(dim, heads=1 if dim % HEAD else dim // HEAD, window=window)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.attention(x, Padded.unpadded(x).bias(x.dtype)[:, None, None, :])[0]
        return y


class RecurrentLayer(nn.Module):
    """An LSTM from the first position to the last."""

    def __init__(self, dim: int, *, run: Run):
        super().__init__()
        self.cell = LSTMCell(dim, 0, dim=dim)
        self.run = run

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.run(self.cell, Padded.unpadded(x), self.cell.start(zero_states(self.cell, x)))
        return outputs.data


class ConvolutionLayer(nn.Module):
    """The gated convolution of ConvS2S around each position (Gehring et al. 2017, section 3.2)."""

    def __init__(self, dim: int):
        super().__init__()
        self.convolution = GatedConvolution(dim, dim, kernel_size=KERNEL)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.convolution(pad_centered(Padded.unpadded(x), KERNEL))
        return y


KINDS = (
    Kind("self-attention", "n² d", Powers(2, 1), "1", "1", AttentionLayer),
    Kind("restricted self-attention", "r n d", Powers(1, 1), "1", "n / r", partial(AttentionLayer, window=WINDOW)),
    Kind("LSTM, torch's kernel", "n d²", Powers(1, 2), "n", "n", partial(RecurrentLayer, run=LSTMCell.run)),
    Kind("LSTM, our own loop", "n d²", Powers(1, 2), "n", "n", partial(RecurrentLayer, run=run_stepwise)),
    Kind("convolution", "k n d²", Powers(1, 2), "1", "n / k; log_k n dilated", ConvolutionLayer),
)
