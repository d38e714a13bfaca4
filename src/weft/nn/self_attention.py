"""Multi-head self-attention with a key-value cache (Vaswani et al. 2017, section 3.2.2), optionally within a local
window, computed in blocks: O(w n d) instead of O(n^2 d).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core import tracing
from weft.core.setting_types import PositiveInt, Rate
from weft.nn.attention import join_heads, split_heads
from weft.nn.dropout import Dropout
from weft.nn.positional_encoding import apply_rotary

MIN_BLOCK_LENGTH = 32  # smaller matrix products cost more overhead than they save


class KeyValueCache(NamedTuple):
    """Keys and values [N,H,T,D] of the positions so far, or of the last `window` of them."""

    keys: Tensor
    values: Tensor
    steps: Tensor  # [N], number of positions so far


class AttentionOperands(NamedTuple):
    """The operands of softmax(query keys^T + bias) values."""

    query: Tensor  # [N,H,T,D]
    keys: Tensor  # [N,H,T,D]
    values: Tensor  # [N,H,T,D]
    bias: Tensor  # [N,1,1,T]


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself; queries, keys and values come from one matrix product.

    window: a position attends to itself and at most this many positions on each side, in a decoder before it
    (restricted self-attention, Vaswani et al. 2017, section 4).
    """

    def __init__(
        self,
        dim: int,
        *,
        heads: PositiveInt = 4,
        rotary: bool = False,
        window: PositiveInt | None = None,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        if dim % heads:
            raise ValueError(f"{heads} heads do not divide the width {dim}")
        if rotary and dim // heads % 2:
            raise ValueError(f"rotary positions need heads of even width, got {dim // heads}")
        self.heads = heads
        self.rotary = rotary
        self.window = window
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.scale = (dim // heads) ** -0.5
        self.dropout = Dropout(dropout)

    def start(self, like: Tensor) -> KeyValueCache:
        """Return an empty cache with a row per row of `like`."""
        empty = like.new_zeros(len(like), self.heads, 0, self.out.in_features // self.heads)
        return KeyValueCache(empty, empty, torch.zeros(len(like), dtype=torch.long, device=like.device))

    def forward(self, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor | None]:
        """Bidirectional: x [N,T,D], bias [N,1,1,T] (-inf in the padding) -> y [N,T,D], weights [N,H,T,T].

        The weights are None where attention is computed in blocks: for sequences much longer than the window, unless
        they are traced.
        """
        operands = AttentionOperands(*self._project(x, 0), bias)
        if self.window is None:
            return self._attend(operands)
        if tracing.is_tracing() or not is_blockwise_faster(x.shape[1], self.window):
            positions = torch.arange(x.shape[1], device=bias.device)
            distance = (positions[:, None] - positions).abs()
            return self._attend(operands._replace(bias=restrict_bias(bias, distance, self.window)))
        context, _ = self._context(split_into_blocks(operands, self.window))  # [N,H,C,b,D]
        return self.out(join_heads(context.flatten(2, 3)[:, :, : x.shape[1]])), None

    def extend(self, x: Tensor, cache: KeyValueCache) -> tuple[Tensor, Tensor, KeyValueCache]:
        """Causal: the next T positions x [N,T,D] attend to themselves and the past -> y, weights, extended cache."""
        past = cache.keys.shape[2]
        query, keys, values = self._project(x, cache.steps[:, None, None])
        if past:
            keys, values = torch.cat([cache.keys, keys], 2), torch.cat([cache.values, values], 2)
        y, weights = self._attend(AttentionOperands(query, keys, values, causal_bias(query, past, self.window)))
        recent = slice(None) if self.window is None else slice(-self.window, None)
        return y, weights, KeyValueCache(keys[:, :, recent], values[:, :, recent], cache.steps + x.shape[1])

    def _project(self, x: Tensor, first: int | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, values = (split_heads(part, self.heads) for part in self.project(x).chunk(3, -1))
        if self.rotary:
            query, keys = apply_rotary(query, first), apply_rotary(keys, first)
        return query * self.scale, keys, values

    def _attend(self, operands: AttentionOperands) -> tuple[Tensor, Tensor]:
        context, weights = self._context(operands)
        return self.out(join_heads(context)), weights

    def _context(self, operands: AttentionOperands) -> tuple[Tensor, Tensor]:
        query, keys, values, bias = operands
        weights = (query @ keys.transpose(-1, -2) + bias).softmax(-1)
        return self.dropout(weights) @ values, weights


def causal_bias(query: Tensor, past: int, window: int | None) -> Tensor:
    """Return [T,past+T], -inf for later positions and for those further back than the window."""
    steps = query.shape[2]
    masked = query.new_full((steps, past + steps), float("-inf"))
    if window is None:
        return masked.triu_(past + 1)
    return masked.triu(past + 1) + masked.tril(past - window - 1)


def restrict_bias(bias: Tensor, distance: Tensor, window: int) -> Tensor:
    """Return the bias with -inf outside the window.

    A position always attends to itself, even in the padding: a softmax over nothing is not a number.
    """
    return torch.where(distance == 0, 0.0, bias.masked_fill(distance > window, float("-inf")))


def is_blockwise_faster(steps: int, window: int) -> bool:
    """Whether the sequence is longer than what a block of queries attends to."""
    return steps > max(window, MIN_BLOCK_LENGTH) + 2 * window


def split_into_blocks(operands: AttentionOperands, window: int) -> AttentionOperands:
    """Return C blocks of b queries [N,H,C,b,D], each with the keys and values in its windows [N,H,C,b+2w,D]."""
    query = operands.query
    block = max(window, MIN_BLOCK_LENGTH)
    span = block + 2 * window
    padding = -query.shape[2] % block  # fills the last block
    blocks = F.pad(query, (0, 0, 0, padding)).view(*query.shape[:2], -1, block, query.shape[3])
    keys, values = (
        F.pad(part, (0, 0, window, window + padding)).unfold(2, span, block).transpose(-1, -2)
        for part in (operands.keys, operands.values)
    )
    bias = F.pad(operands.bias, (window, window + padding), value=float("-inf"))
    bias = bias.unfold(3, span, block).transpose(2, 3)
    distance = (torch.arange(span) - torch.arange(window, window + block)[:, None]).abs()  # [b,b+2w]
    return AttentionOperands(blocks, keys, values, restrict_bias(bias, distance.to(bias.device), window))
