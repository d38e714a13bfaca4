"""Distributions without their improbable tokens, each row [A,V] by itself; what is left out becomes minus infinity.

Logits need not be normalised, and are not made so: of what is left a draw takes each as often as before, relative to
the others.
"""

import math

import torch
from torch import Tensor

from weft.search.allowed import IMPOSSIBLE
from weft.search.top import top


def top_k(logits: Tensor, count: int) -> Tensor:
    """The `count` most probable; of equals the lower id."""
    values, tokens = top(logits, count)
    return torch.full_like(logits, IMPOSSIBLE).scatter_(1, tokens, values)


def nucleus(logits: Tensor, share: float) -> Tensor:
    """The fewest of the most probable that together have at least this share of the probability."""
    values, tokens = logits.sort(dim=1, descending=True, stable=True)
    probabilities = values.softmax(1)
    before = probabilities.cumsum(1) - probabilities  # of what is more probable: 0 for the first
    return torch.full_like(logits, IMPOSSIBLE).scatter_(1, tokens, values.masked_fill(before >= share, IMPOSSIBLE))


def above(logits: Tensor, share: float) -> Tensor:
    """Those at least `share` times as probable as the most probable."""
    least = logits.amax(1, keepdim=True) + math.log(share)
    return logits.masked_fill(logits < least, IMPOSSIBLE)
