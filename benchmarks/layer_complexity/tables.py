"""Exponents fitted to the measured times, as Markdown tables and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from benchmarks.layer_complexity.layer_kinds import Kind, Powers
from benchmarks.layer_complexity.timing import Size, Times
from benchmarks.markdown import table

Medians: TypeAlias = dict[str, dict[Size, float]]  # seconds of a batch, for each kind

# The dominant part of attention changes where the length is about the width.
REGIONS: Mapping[str, Callable[[Size], bool]] = {
    "all sizes": lambda _: True,
    "n ≤ d": lambda size: size.length <= size.width,
    "n ≥ 4 d": lambda size: size.length >= 4 * size.width,
}


def fit(seconds: Mapping[Size, float]) -> Powers | None:
    """Fit log time = c + a log n + b log d by least squares; None if there are too few sizes."""
    rows = np.array([[1.0, np.log(size.length), np.log(size.width)] for size in seconds])
    if len(rows) < 3 or np.linalg.matrix_rank(rows) < 3:
        return None
    _, length, width = np.linalg.lstsq(rows, np.log(list(seconds.values())), rcond=None)[0]
    return Powers(float(length), float(width))


def fit_regions(seconds: Mapping[Size, float]) -> dict[str, Powers | None]:
    return {
        name: fit({size: value for size, value in seconds.items() if inside(size)}) for name, inside in REGIONS.items()
    }


def medians(times: Times) -> Medians:
    found: Medians = {}
    for turn, seconds in times.items():
        found.setdefault(turn.kind, {})[turn.size] = median(seconds)
    return found


def orders_table(kinds: Sequence[Kind], found: Medians) -> str:
    """Return the published complexity of each kind with the measured exponents."""
    header = ["layer", "published", "sequential", "path", *(f"measured, {region}" for region in REGIONS)]
    return table(
        header,
        [
            [
                kind.name,
                kind.order,
                kind.sequential,
                kind.path,
                *map(format_powers, fit_regions(found[kind.name]).values()),
            ]
            for kind in kinds
        ],
    )


def format_powers(powers: Powers | None) -> str:
    return "" if powers is None else f"n^{powers.length:.2f} d^{powers.width:.2f}"


def times_table(found: Medians, width: int) -> str:
    """Return the milliseconds per batch at one width."""
    lengths = sorted({size.length for sizes in found.values() for size in sizes})
    return table(
        [f"d = {width}, n =", *map(str, lengths)],
        [[name, *(milliseconds(sizes[Size(length, width)]) for length in lengths)] for name, sizes in found.items()],
    )


def milliseconds(seconds: float) -> str:
    """Format with three significant digits, or as an integer from 100 on."""
    number = 1000 * seconds
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def heading(facts: Mapping[str, Any]) -> str:
    return (
        "{cpu}, cores: {cores}, threads: {threads}, torch {torch}. "
        "Time of a {what}, sequences in a batch: {batch}, median of rounds: {rounds}.\n".format(**facts)
    )


def markdown(kinds: Sequence[Kind], found: Medians, facts: Mapping[str, Any]) -> str:
    """Return all tables; times are those at the smallest and the largest width."""
    widths = sorted({size.width for sizes in found.values() for size in sizes})
    tables = [orders_table(kinds, found), *(times_table(found, width) for width in (widths[0], widths[-1]))]
    return "\n".join([heading(facts), tables[0], "Milliseconds:\n", *tables[1:]])


def as_json(times: Times, found: Medians, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "setting": facts,
        "powers": {
            name: {region: powers and powers._asdict() for region, powers in fit_regions(sizes).items()}
            for name, sizes in found.items()
        },
        "seconds": [
            {"layer": turn.kind, **turn.size._asdict(), "median": median(seconds), "rounds": seconds}
            for turn, seconds in times.items()
        ],
    }
