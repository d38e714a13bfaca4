"""Dropout whose random numbers are cheap on a CPU."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.types import Rate

LEVELS = 256  # a random byte decides each element


def keep_mask(like: Tensor, rate: float) -> Tensor:
    """1 where kept and 0 where dropped, from one random byte an element; the rate is rounded to 1/256."""
    words = torch.empty((like.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.uint8)[: like.numel()].view(like.shape)
    return torch.ge(draws, round(rate * LEVELS), out=torch.empty(like.shape, dtype=like.dtype))


class Dropout(nn.Module):
    """Srivastava et al. 2014: in training each element is zeroed with probability `rate`, the rest scaled up.

    torch draws a float per element, which on a CPU costs more than the layer before it; here eight elements share
    one 64-bit draw. On other devices, and for rates that 1/256 cannot tell from 0 or 1, torch's own is used.
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
        return x * keep_mask(x, self.rate).mul_(LEVELS / (LEVELS - dropped))
