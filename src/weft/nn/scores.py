"""How well a query fits a key, before the softmax. Queries are always [B,H,T,Q], keys [B,H,S,K]."""

from typing import Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Count


class Score(Protocol):
    """e(q, k) for every query with every key."""

    def keys(self, keys: Tensor) -> Tensor:
        """What depends on the keys alone, computed once per sentence."""
        ...

    def __call__(self, query: Tensor, keys: Tensor) -> Tensor:
        """[B,H,T,Q], keys as prepared -> [B,H,T,S]."""
        ...


class ScaledDot(nn.Module):
    """e = q·k / sqrt(D). Vaswani et al. 2017, equation 1."""

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        if query_dim != key_dim:
            raise ValueError(f"a dot product needs queries and keys of one width, got {query_dim} and {key_dim}")
        self.scale = query_dim**-0.5

    def keys(self, keys: Tensor) -> Tensor:
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return (query * self.scale) @ keys.transpose(-1, -2)


class Additive(nn.Module):
    """e = v·tanh(W q + U k). Bahdanau et al. 2015, appendix A.1.2; U k is computed once per sentence."""

    def __init__(self, query_dim: int, key_dim: int, *, dim: Count | None = None):
        super().__init__()
        width = dim or query_dim
        self.query = nn.Linear(query_dim, width, bias=False)
        self.key = nn.Linear(key_dim, width, bias=False)
        self.vector = nn.Parameter(torch.randn(width) * width**-0.5)

    def keys(self, keys: Tensor) -> Tensor:
        return self.key(keys)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.query(query)[..., :, None, :] + keys[..., None, :, :])  # [B,H,T,S,D]
        return hidden @ self.vector
