"""From values to places on an axis, and the round numbers that are written on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

ROUND = (1.0, 2.0, 2.5, 5.0)
POWERS = (1.0, 2.0, 5.0)  # on a logarithmic axis
NEARLY = 1e-9  # numbers that are nearer to each other are equal
WIDE = 30.0  # times the lowest value: from there on an axis that may be logarithmic is


@dataclass(frozen=True)
class Scale:
    """An axis from low to high. ticks: numbers that are written on it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 is the low end, 1 the high one."""
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        return min(1.0, max(0.0, (here - low) / (high - low)))

    def _bent(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def scale_of(values: Sequence[float], most: int, *, logarithmic: bool = False) -> Scale:
    """One that holds all values, with about so many ticks; logarithmic, if it may be and they are far apart."""
    low, high = min(values), max(values)
    if logarithmic and 0 < low < high / WIDE:
        return Scale(low, high, powers(low, high, most), logarithmic=True)
    if high - low <= NEARLY * max(abs(low), abs(high)):
        around = abs(low) / 10 or 1.0
        low, high = low - around, high + around
    return Scale(low, high, steps(low, high, most))


def steps(low: float, high: float, most: int) -> tuple[float, ...]:
    """Equal steps of 1, 2, 2.5 or 5 times a power of ten, two at least; the ends, if there are no such two."""
    smallest = 10.0 ** math.floor(math.log10((high - low) / most))
    found = [multiples(low, high, step) for step in takewhile(lambda step: step < high - low, rounds(ROUND, smallest))]
    return next((ticks for ticks in found if 2 <= len(ticks) <= max(3, most)), (low, high))


def multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """Of a step, between these ends."""
    first, last = math.ceil(low / step - NEARLY), math.floor(high / step + NEARLY)
    return tuple(number * step for number in range(first, last + 1))


def powers(low: float, high: float, most: int) -> tuple[float, ...]:
    """1, 2 and 5 times powers of ten, of which about so many are kept."""
    all_of_them = takewhile(lambda number: number <= high, rounds(POWERS, 10.0 ** math.floor(math.log10(low))))
    found = [number for number in all_of_them if number >= low]
    every = math.ceil(len(found) / max(2, most))
    return tuple(found[::every])


def rounds(numbers: Sequence[float], power: float) -> Iterator[float]:
    """Times this power of ten, times the next, and so on."""
    while True:
        for number in numbers:
            yield number * power
        power *= 10


def short(value: float) -> str:
    """A number as it stands on an axis: 0.25, 12, 4.5k, 2e-4."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    if value != 0 and abs(value) < 1e-2:
        digits, _, power = f"{value:.1e}".partition("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{value:.3g}"
