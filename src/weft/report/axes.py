"""Axes of a chart: round numbers, and where on the paper a value is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

STEPS = (1, 2, 2.5, 5, 10)
WIDE = 30.0  # times as much at the top as at the bottom: then powers of ten tell more than equal steps


class Axis(NamedTuple):
    """From values to places, equally far apart or by powers of ten; the ticks are its round values."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where a value is: 0 at the low end, 1 at the high one."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def axis(values: Sequence[float], most: int = 5) -> Axis:
    """An axis from a round number below all values to one above, with at most so many steps."""
    low, high = min(values), max(values)
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)
    step = round_step((high - low) / most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(step * number for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def wide_axis(values: Sequence[float]) -> Axis:
    """The same, by powers of ten where all values are above 0 and far apart."""
    low, high = min(values), max(values)
    if low <= 0 or high / low < WIDE:
        return axis(values)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = tuple(10.0**power for power in range(first, last + 1))
    return Axis(low, high, tuple(tick for tick in ticks if low <= tick <= high), logarithmic=True)


def from_nothing(values: Sequence[float], most: int = 5) -> Axis:
    """An axis that begins at 0."""
    return axis([0.0, *values], most)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def figure(value: float) -> str:
    """As a reader wants to know it: 1,386 and 26.9, 6.67 and 0.00125."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def short(value: float) -> str:
    """As many digits as an axis has room for: 1,500 and 0.004, 25k and 4e-05."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.6g}k"
    return f"{value:,.4g}" if value == 0 or abs(value) >= 0.001 else f"{value:.3g}"
