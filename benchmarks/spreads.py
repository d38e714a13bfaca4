"""A figure that was taken several times: its median, its least and its most."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, TypeAlias

Spread: TypeAlias = dict[str, Any]  # median, min, max, and the values of all rounds


def spread(values: list[float]) -> Spread:
    return {"median": median(values), "min": min(values), "max": max(values), "rounds": values}


def between(spread: Mapping[str, Any], form: str) -> str:
    """As "1.57 (1.40 - 1.60)", of one round as "1.57"; form: of each number, as ".2f"."""
    if len(spread["rounds"]) == 1:
        return f"{spread['median']:{form}}"
    return f"{spread['median']:{form}} ({spread['min']:{form}} - {spread['max']:{form}})"
