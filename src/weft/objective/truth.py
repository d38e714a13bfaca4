"""How likely the decoder is fed the truth, as a function of the step. Bengio et al. 2015, section 2.4."""

import math
from typing import Protocol

from weft.core.types import Positive, Share


class TruthProbability(Protocol):
    def __call__(self, step: int) -> float: ...


class Constant:
    """e = probability."""

    def __init__(self, *, probability: Share = 0.75):
        self.probability = probability

    def __call__(self, step: int) -> float:  # noqa: ARG002 (as its neighbours)
        return self.probability


class LinearDecay:
    """e = max(floor, first - slope s)."""

    def __init__(self, *, first: Share = 1.0, slope: Positive = 1e-4, floor: Share = 0.0):
        self.first, self.slope, self.floor = first, slope, floor

    def __call__(self, step: int) -> float:
        return max(self.floor, self.first - self.slope * step)


class ExponentialDecay:
    """e = base^s."""

    def __init__(self, *, base: Share = 0.9999):
        self.base = base

    def __call__(self, step: int) -> float:
        return self.base**step


class InverseSigmoid:
    """e = k / (k + exp(s / k)): near 1 at first, one half at s = k log k, then quickly to 0."""

    def __init__(self, *, k: Positive = 1000.0):
        self.k = k

    def __call__(self, step: int) -> float:
        return 1 / (1 + math.exp(min(700.0, step / self.k)) / self.k)
