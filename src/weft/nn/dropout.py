"""Dropout (Srivastava et al. 2014) with cheap random bytes on the CPU."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.setting_types import Rate

BYTE_LEVELS = 256  # a random byte decides each element


class Dropout(nn.Module):
    """In training, zero each element with probability `rate` and scale the others by 1 / (1 - rate).

    torch draws a float per element, which on a CPU costs more than the layer before it. Here eight elements share one
    64-bit draw, so the rate is rounded to 1/256. Other devices, and rates that round to 0 or 1, use torch's own.
    """

    def __init__(self, rate: Rate = 0.0):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        level = round(self.rate * BYTE_LEVELS)
        if x.device.type != "cpu" or not 0 < level < BYTE_LEVELS:
            return F.dropout(x, self.rate)
        return cast(Callable[[Tensor, int], Tensor], DropoutFunction.apply)(x, level)


class DropoutFunction(torch.autograd.Function):
    """y = x m, where m is 0 if the byte of an element is below `level`, and 256 / (256 - level) otherwise.

    The bytes are saved for the gradient and m is computed again: m itself would take four times the memory.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        draws = words.view(torch.uint8)[: x.numel()].view(x.shape)
        ctx.save_for_backward(draws)
        ctx.level = level
        return dropout_factors(draws, level, x.dtype).mul_(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (draws,) = ctx.saved_tensors
        return dropout_factors(draws, ctx.level, gradient.dtype).mul_(gradient), None


def dropout_factors(draws: Tensor, level: int, dtype: torch.dtype) -> Tensor:
    kept = torch.ge(draws, level, out=torch.empty(draws.shape, dtype=dtype))
    return kept.mul_(BYTE_LEVELS / (BYTE_LEVELS - level))
