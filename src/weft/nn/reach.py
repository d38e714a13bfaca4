"""Self-attention within a reach r: as a bias on the scores of all pairs, or in blocks, which costs r n d, not n n d."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

SHORTEST_BLOCK = 32  # products of smaller blocks cost more in overhead than they save


class Operands(NamedTuple):
    """What an attention works on: softmax(query keys' + bias) values."""

    query: Tensor  # [N,H,T,D]
    keys: Tensor  # [N,H,T,D]
    values: Tensor  # [N,H,T,D]
    bias: Tensor  # [N,1,1,T]


def within_reach(bias: Tensor, reach: int) -> Tensor:
    """bias [N,1,1,T] -> [N,1,T,T], minus infinity also where two positions are further apart than the reach."""
    positions = torch.arange(bias.shape[-1], device=bias.device)
    return restricted(bias, (positions[:, None] - positions).abs(), reach)


def restricted(bias: Tensor, distance: Tensor, reach: int) -> Tensor:
    """Minus infinity past the reach; 0 where a position meets itself: in the padding it meets nobody else, and a
    softmax over nothing is not a number.
    """
    return torch.where(distance == 0, 0.0, bias.masked_fill(distance > reach, float("-inf")))


def block_length(reach: int) -> int:
    return max(reach, SHORTEST_BLOCK)


def pays_in_blocks(steps: int, reach: int) -> bool:
    """Are there more positions than a block of queries can reach?"""
    return steps > block_length(reach) + 2 * reach


def in_blocks(whole: Operands, reach: int) -> Operands:
    """C blocks of b queries [N,H,C,b,D], each with the keys and values that one of them can reach [N,H,C,b+2r,D]."""
    block = block_length(reach)
    near = block + 2 * reach
    more = -whole.query.shape[2] % block  # so that the last block is whole
    query = F.pad(whole.query, (0, 0, 0, more)).view(*whole.query.shape[:2], -1, block, whole.query.shape[3])
    around = (0, 0, reach, reach + more)
    keys, values = (F.pad(part, around).unfold(2, near, block).transpose(-1, -2) for part in (whole.keys, whole.values))
    bias = F.pad(whole.bias, (reach, reach + more), value=float("-inf")).unfold(3, near, block).transpose(2, 3)
    return Operands(query, keys, values, restricted(bias, distances(block, reach).to(bias.device), reach))


def out_of_blocks(context: Tensor, steps: int) -> Tensor:
    """[N,H,C,b,D] -> [N,H,T,D]."""
    return context.flatten(2, 3)[:, :, :steps]


def distances(block: int, reach: int) -> Tensor:
    """[b,b+2r], how far each query of a block is from what it meets, the first of which stands r before the block."""
    return (torch.arange(block + 2 * reach) - torch.arange(reach, reach + block)[:, None]).abs()
