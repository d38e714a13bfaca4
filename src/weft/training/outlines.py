"""Tensors of the first rank, about to be sent to the others."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from weft.training.ranks import Ranks

TYPES = {
    str(one): one for one in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool)
}


def outlines(ranks: Ranks, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """On the first rank its tensors; on the others empty ones of the same names, shapes and types, to receive them."""
    types = ranks.first(lambda: {name: str(one.dtype) for name, one in tensors.items()})
    shapes = ranks.first(lambda: {name: list(one.shape) for name, one in tensors.items()})
    if ranks.number == 0:
        return {name: tensor.to(ranks.device).contiguous() for name, tensor in tensors.items()}
    return {name: torch.empty(shapes[name], dtype=TYPES[types[name]], device=ranks.device) for name in types}
