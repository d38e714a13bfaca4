"""Which part of the source an attention may look at: from scores to weights. Luong et al. 2015, section 3.2."""

from typing import NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn

from weft.core.types import Count


class Place(NamedTuple):
    """steps [B,1,T,1]: the number of each query, counted from 0 in its output. lengths [B,1,1,1]: of the sources."""

    steps: Tensor
    lengths: Tensor


class Window(Protocol):
    """Made as Window(query_dim, ...)."""

    local: bool  # whether it asks where a query stands

    def __call__(self, scores: Tensor, query: Tensor, place: Place | None) -> Tensor:
        """scores [B,H,T,S] (minus infinity in the padding), query [B,H,T,Q] -> weights [B,H,T,S]."""
        ...


class Global(nn.Module):
    """a = softmax(e)."""

    local = False

    def __init__(self, query_dim: int):  # noqa: ARG002 (as all windows)
        super().__init__()

    def forward(self, scores: Tensor, query: Tensor, place: Place | None) -> Tensor:  # noqa: ARG002
        return scores.softmax(-1)


class LocalMonotonic(nn.Module):
    """local-m: a = softmax(e) over the positions j with |j - p| <= reach, where p = t, as far as the source goes."""

    local = True

    def __init__(self, query_dim: int, *, reach: Count = 10):  # noqa: ARG002
        super().__init__()
        self.reach = reach

    def forward(self, scores: Tensor, query: Tensor, place: Place | None) -> Tensor:  # noqa: ARG002
        steps, lengths = cast(Place, place)
        centre = torch.minimum(steps, lengths - 1)
        return within(scores, centre, self.reach).softmax(-1)


class LocalPredictive(nn.Module):
    """local-p: p = S sigmoid(v·tanh(W q)) (equation 9), a = softmax(e) exp(-(j - p)² / 2σ²) with σ = reach / 2
    (equation 10), over |j - p| <= reach; S is the real length.
    """

    local = True

    def __init__(self, query_dim: int, *, reach: Count = 10):
        super().__init__()
        self.reach = reach
        self.hidden = nn.Linear(query_dim, query_dim, bias=False)
        self.vector = nn.Linear(query_dim, 1, bias=False)

    def forward(self, scores: Tensor, query: Tensor, place: Place | None) -> Tensor:
        _, lengths = cast(Place, place)
        centre = lengths.to(scores.dtype) * torch.sigmoid(self.vector(torch.tanh(self.hidden(query))))  # [B,H,T,1]
        distance = torch.arange(scores.shape[-1], device=scores.device) - centre
        weights = within(scores, centre, self.reach).softmax(-1)
        return weights * torch.exp(-2 * (distance / self.reach) ** 2)


def within(scores: Tensor, centre: Tensor, reach: int) -> Tensor:
    """Minus infinity further than `reach` from the centre."""
    positions = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill((positions - centre).abs() > reach, float("-inf"))
