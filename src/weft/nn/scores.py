"""How well a query fits a key, before the softmax. Queries are always [B,H,T,Q], keys [B,H,S,K]."""

from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.errors import UserError
from weft.core.types import Count
from weft.nn.initial import normal


class Score(Protocol):
    """e(q, k) for every query with every key. Made as Score(query_dim, key_dim, ...)."""

    covers: bool  # whether it looks at how much weight each key has had so far

    def keys(self, keys: Tensor) -> Tensor:
        """What depends on the keys alone, computed once per sentence."""
        ...

    def __call__(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        """[B,H,T,Q], keys as prepared, coverage [B,1,T,S] (only if it `covers`) -> [B,H,T,S]."""
        ...


class Dot(nn.Module):
    """e = q·k. Luong et al. 2015, section 3.1."""

    covers = False

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        require_equal("dot", query_dim, key_dim)

    def keys(self, keys: Tensor) -> Tensor:
        return keys

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return query @ keys.transpose(-1, -2)


class ScaledDot(nn.Module):
    """e = q·k / sqrt(D). Vaswani et al. 2017, equation 1."""

    covers = False

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        require_equal("scaled-dot", query_dim, key_dim)
        self.scale = query_dim**-0.5

    def keys(self, keys: Tensor) -> Tensor:
        return keys

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return (query * self.scale) @ keys.transpose(-1, -2)


class General(nn.Module):
    """e = q·W k, also called bilinear or multiplicative. Luong et al. 2015, section 3.1; W k once per sentence."""

    covers = False

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        self.matrix = nn.Linear(key_dim, query_dim, bias=False)

    def keys(self, keys: Tensor) -> Tensor:
        return self.matrix(keys)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return query @ keys.transpose(-1, -2)


class Cosine(nn.Module):
    """e = b q·k / (|q| |k|), with b learned. Graves et al. 2014, equations 5 and 6."""

    covers = False

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        require_equal("cosine", query_dim, key_dim)
        self.strength = nn.Parameter(torch.tensor(5.0))

    def keys(self, keys: Tensor) -> Tensor:
        return F.normalize(keys, dim=-1)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return self.strength * F.normalize(query, dim=-1) @ keys.transpose(-1, -2)


class Additive(nn.Module):
    """e = v·tanh(W q + U k). Bahdanau et al. 2015, appendix A.1.2; U k is computed once per sentence.

    form: summed is v·tanh(W (q + k)), which needs one width for both.
    coverage: + w c_j inside, where c_j is the weight that key j has had so far (See et al. 2017, equation 11).
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        dim: Count | None = None,
        form: Literal["split", "summed"] = "split",
        coverage: bool = False,
    ):
        super().__init__()
        width = dim or query_dim
        self.covers = coverage
        if form == "summed":
            require_equal("additive, summed", query_dim, key_dim)
        self.query = nn.Linear(query_dim, width, bias=False)
        self.key = self.query if form == "summed" else nn.Linear(key_dim, width, bias=False)
        self.vector = nn.Parameter(normal(width, deviation=width**-0.5))
        self.cover = nn.Parameter(torch.zeros(width)) if coverage else None

    def keys(self, keys: Tensor) -> Tensor:
        return self.key(keys)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        hidden = self.query(query)[..., :, None, :] + keys[..., None, :, :]  # [B,H,T,S,D]
        if self.cover is not None and coverage is not None:
            hidden = hidden + coverage[..., None] * self.cover
        return torch.tanh(hidden) @ self.vector


class Concat(Additive):
    """e = v·tanh([W U] [q; k]). Luong et al. 2015, section 3.1: another writing of `additive`, the same numbers."""


class Location(nn.Module):
    """e_j = (W q)_j: where to look depends on the query alone. Luong et al. 2015, equation 8."""

    covers = False

    def __init__(self, query_dim: int, key_dim: int, *, max_source: Count = 256):  # noqa: ARG002 (as all scores)
        super().__init__()
        self.matrix = nn.Linear(query_dim, max_source, bias=False)

    def keys(self, keys: Tensor) -> Tensor:
        if keys.shape[-2] > self.matrix.out_features:
            raise UserError(
                f"the source has {keys.shape[-2]} tokens, and location scores end at max_source = "
                f"{self.matrix.out_features}: set data.max_length below it, or train with a larger max_source"
            )
        return keys

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:  # noqa: ARG002
        return self.matrix(query)[..., : keys.shape[-2]]


def require_equal(name: str, query_dim: int, key_dim: int) -> None:
    if query_dim != key_dim:
        raise ValueError(f"{name}: needs queries and keys of one width, got {query_dim} and {key_dim}")
