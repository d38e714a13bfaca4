"""Drawing tokens from a distribution, with torch's own generators, which the loop sets anew before each update."""

import torch
from torch import Tensor


def drawn(logits: Tensor) -> Tensor:
    """A draw from softmax(logits) [...,V] -> [...]: argmax_v(z_v + g_v), g from a Gumbel distribution.

    Maddison, Tarlow & Minka 2014.
    """
    gumbel = -torch.empty_like(logits).exponential_().log()
    return (logits + gumbel).argmax(-1)
