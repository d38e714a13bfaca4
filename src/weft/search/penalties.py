"""Length penalties: outputs of different lengths are compared by log P(Y|X) / penalty(|Y|), with END counted in |Y|."""

from typing import Annotated, Protocol

import torch
from annotated_types import Ge
from torch import Tensor

Strength = Annotated[float, Ge(0.0)]


class Penalty(Protocol):
    """What a score is divided by; it never falls as the length grows, and exact search relies on that."""

    def __call__(self, length: Tensor) -> Tensor:
        """Lengths >= 1, as floating-point numbers of any shape -> divisors of the same shape."""
        ...


class NoPenalty:
    """Scores as they are: short outputs are favoured."""

    def __call__(self, length: Tensor) -> Tensor:
        return torch.ones_like(length)


class Average:
    """|Y|^alpha: with alpha 1 the mean log-probability of a token."""

    def __init__(self, *, alpha: Strength = 1.0):
        self.alpha = alpha

    def __call__(self, length: Tensor) -> Tensor:
        return length**self.alpha


class GNMT:
    """((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14)."""

    def __init__(self, *, alpha: Strength = 0.6):
        self.alpha = alpha

    def __call__(self, length: Tensor) -> Tensor:
        return ((5 + length) / 6) ** self.alpha
