"""Dropout whose random numbers are cheap on a CPU, and which keeps one byte an element for the gradient."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.types import Rate

LEVELS = 256  # a random byte decides each element


class Dropout(nn.Module):
    """Srivastava et al. 2014: in training each element is zeroed with probability `rate`, the rest scaled up.

    torch draws a float per element, which on a CPU costs more than the layer before it; here eight elements share
    one 64-bit draw, so that the rate is rounded to 1/256. On other devices, and for rates that 1/256 cannot tell from 0
    or 1, torch's own is used.
    """

    def __init__(self, rate: Rate = 0.0):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        dropped = round(self.rate * LEVELS)
        if x.device.type != "cpu" or not 0 < dropped < LEVELS:
            return F.dropout(x, self.rate)
        return cast(Callable[[Tensor, int], Tensor], Drop.apply)(x, dropped)


class Drop(torch.autograd.Function):
    """y = x m, where m is 0 if the byte of an element is below `dropped`, and 256 / (256 - dropped) if not.

    For the gradient the bytes are kept and m is made again: as numbers like x it would take four times the memory.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: int) -> Tensor:
        draws = draw(x)
        ctx.save_for_backward(draws)
        ctx.dropped = dropped
        return multiples(draws, dropped, x).mul_(x)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        (draws,) = ctx.saved_tensors
        return multiples(draws, ctx.dropped, slope).mul_(slope), None


def draw(like: Tensor) -> Tensor:
    """A random byte an element."""
    words = torch.empty((like.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.uint8)[: like.numel()].view(like.shape)


def multiples(draws: Tensor, dropped: int, like: Tensor) -> Tensor:
    """m of each byte, as a number like those of `like`."""
    kept = torch.ge(draws, dropped, out=torch.empty(draws.shape, dtype=like.dtype))
    return kept.mul_(LEVELS / (LEVELS - dropped))
