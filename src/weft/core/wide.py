"""Numbers of 16 bits where 16 are not enough."""

import torch
from torch import Tensor


def wide(numbers: Tensor) -> Tensor:
    """In 32 bits at least: what logarithms, sums over many positions and losses are made of."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))
