"""Attention score functions e(q, k), before the softmax. Queries are [B,H,T,Q], keys [B,H,S,K]."""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.errors import UserError
from weft.core.setting_types import PositiveInt
from weft.nn.layers import normal_init


class AttentionScore(Protocol):
    """e(q, k) for every query with every key. Called as Score(query_dim, key_dim, ...)."""

    uses_coverage: bool

    def prepare_keys(self, keys: Tensor) -> Tensor:
        """Compute what depends on the keys alone, once per sentence."""
        ...

    def __call__(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        """query [B,H,T,Q], prepared keys -> [B,H,T,S].

        coverage [B,1,T,S]: the attention that each key has received so far, if the score uses it.
        """
        ...


class _ProductScore(nn.Module):
    """e = q·k."""

    uses_coverage = False

    def prepare_keys(self, keys: Tensor) -> Tensor:
        return keys

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return query @ keys.transpose(-1, -2)


class DotScore(_ProductScore):
    """e = q·k. Luong et al. 2015, section 3.1."""

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        _require_equal_dims("dot", query_dim, key_dim)


class ScaledDotScore(_ProductScore):
    """e = q·k / sqrt(D). Vaswani et al. 2017, equation 1."""

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        _require_equal_dims("scaled-dot", query_dim, key_dim)
        self.scale = query_dim**-0.5

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return super().forward(query * self.scale, keys, coverage)


class GeneralScore(_ProductScore):
    """e = q·W k, also called bilinear or multiplicative. Luong et al. 2015, section 3.1."""

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        self.matrix = nn.Linear(key_dim, query_dim, bias=False)

    def prepare_keys(self, keys: Tensor) -> Tensor:
        return self.matrix(keys)


class CosineScore(_ProductScore):
    """e = b q·k / (|q| |k|), with b learned. Graves et al. 2014, equations 5 and 6."""

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        _require_equal_dims("cosine", query_dim, key_dim)
        self.strength = nn.Parameter(torch.tensor(5.0))

    def prepare_keys(self, keys: Tensor) -> Tensor:
        return F.normalize(keys, dim=-1)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return super().forward(self.strength * F.normalize(query, dim=-1), keys, coverage)


class AdditiveScore(nn.Module):
    """e = v·tanh(W q + U k). Bahdanau et al. 2015, appendix A.1.2.

    shared_projection: U = W, which needs queries and keys of equal width.
    coverage: + w c_j inside, where c_j is the attention that key j has received so far (See et al. 2017, equation 11).
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        dim: PositiveInt | None = None,
        shared_projection: bool = False,
        coverage: bool = False,
    ):
        super().__init__()
        width = dim or query_dim
        self.uses_coverage = coverage
        if shared_projection:
            _require_equal_dims("additive with a shared projection", query_dim, key_dim)
        self.query = nn.Linear(query_dim, width, bias=False)
        self.key = self.query if shared_projection else nn.Linear(key_dim, width, bias=False)
        self.vector = nn.Parameter(normal_init(width, std=width**-0.5))
        self.coverage = nn.Parameter(torch.zeros(width)) if coverage else None

    def prepare_keys(self, keys: Tensor) -> Tensor:
        return self.key(keys)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        hidden = self.query(query)[..., :, None, :] + keys[..., None, :, :]  # [B,H,T,S,D]
        if self.coverage is not None and coverage is not None:
            hidden = hidden + coverage[..., None] * self.coverage
        return torch.tanh(hidden) @ self.vector


class ConcatScore(AdditiveScore):
    """e = v·tanh([W U] [q; k]). Luong et al. 2015, section 3.1: another notation for `additive`."""


class LocationScore(nn.Module):
    """e_j = (W q)_j: depends on the query alone. Luong et al. 2015, equation 8."""

    uses_coverage = False

    def __init__(self, query_dim: int, key_dim: int, *, max_source_length: PositiveInt = 256):  # noqa: ARG002
        super().__init__()
        self.matrix = nn.Linear(query_dim, max_source_length, bias=False)

    def prepare_keys(self, keys: Tensor) -> Tensor:
        if keys.shape[-2] > self.matrix.out_features:
            raise UserError(
                f"the source has {keys.shape[-2]} tokens, and location scores end at max_source_length = "
                f"{self.matrix.out_features}: set data.max_length below it, or train with a larger max_source_length"
            )
        return keys

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return self.matrix(query)[..., : keys.shape[-2]]


def _require_equal_dims(name: str, query_dim: int, key_dim: int) -> None:
    if query_dim != key_dim:
        raise ValueError(f"{name}: needs queries and keys of equal width, got {query_dim} and {key_dim}")
