"""Summary statistics: median and range over rounds, and proportions with a confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import median
from typing import Any, NamedTuple, TypeAlias

Summary: TypeAlias = dict[str, Any]  # median, min, max, and the values of all rounds

Z_95 = 1.96  # standard deviations for a two-sided interval of 95 %


def summarize(values: list[float]) -> Summary:
    return {"median": median(values), "min": min(values), "max": max(values), "rounds": values}


def format_range(summary: Mapping[str, Any], number_format: str) -> str:
    """Return "1.57 (1.40 - 1.60)", or "1.57" for a single round; `number_format` is a format spec such as ".2f"."""
    if len(summary["rounds"]) == 1:
        return f"{summary['median']:{number_format}}"
    return f"{summary['median']:{number_format}} ({summary['min']:{number_format}} - {summary['max']:{number_format}})"


class Proportion(NamedTuple):
    """Number of correct cases out of a total."""

    right: int
    total: int

    def value(self) -> float:
        return self.right / self.total

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval (Wilson 1927)."""
        share, square = self.value(), Z_95**2
        center = share + square / (2 * self.total)
        margin = Z_95 * sqrt(share * (1 - share) / self.total + square / (4 * self.total**2))
        return (center - margin) / (1 + square / self.total), (center + margin) / (1 + square / self.total)
