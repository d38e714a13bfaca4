"""The powers of length and width that measured times follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.orders.kinds import Powers
from benchmarks.orders.timing import Size

# Which part of an attention dominates changes where its length is about its width.
REGIONS: Mapping[str, Callable[[Size], bool]] = {
    "all sizes": lambda _: True,
    "n ≤ d": lambda size: size.length <= size.width,
    "n ≥ 4 d": lambda size: size.length >= 4 * size.width,
}


def fit(seconds: Mapping[Size, float]) -> Powers | None:
    """log time = c + a log n + b log d with the least squared error; None: too few sizes to tell."""
    rows = np.array([[1.0, np.log(size.length), np.log(size.width)] for size in seconds])
    if len(rows) < 3 or np.linalg.matrix_rank(rows) < 3:
        return None
    _, length, width = np.linalg.lstsq(rows, np.log(list(seconds.values())), rcond=None)[0]
    return Powers(float(length), float(width))


def fit_regions(seconds: Mapping[Size, float]) -> dict[str, Powers | None]:
    return {
        name: fit({size: value for size, value in seconds.items() if inside(size)}) for name, inside in REGIONS.items()
    }
