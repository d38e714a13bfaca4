"""How many of all were right, and how sure that is."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

DEVIATIONS = 1.96  # to each side, for 95 %


class Share(NamedTuple):
    """So many of all."""

    right: int
    of: int

    def value(self) -> float:
        return self.right / self.of

    def interval(self) -> tuple[float, float]:
        """Where the true share lies, 95 times of 100 (Wilson 1927)."""
        share, square = self.value(), DEVIATIONS**2
        middle = share + square / (2 * self.of)
        reach = DEVIATIONS * sqrt(share * (1 - share) / self.of + square / (4 * self.of**2))
        return (middle - reach) / (1 + square / self.of), (middle + reach) / (1 + square / self.of)
