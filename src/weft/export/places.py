"""The positions of a model as tables, since others would make other ones; in float32, as nn/positions.py has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.export.described import Described


def places_needed(described: Described) -> int:
    """How many places a table must have: for the longest source and output that there may be, and their marks."""
    longest = described.source_limit() + 1
    return max(longest, described.output_limit(longest) + 1)


def sinusoidal(count: int, dim: int) -> NDArray[np.float32]:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(the same)."""
    return np.stack([np.sin(angles(count, dim)), np.cos(angles(count, dim))], -1).reshape(count, dim)


def turns(count: int, dim: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosine and sine of the angles of rotary positions [places,D/2]."""
    return np.cos(angles(count, dim)), np.sin(angles(count, dim))


def angles(count: int, dim: int) -> NDArray[np.float32]:
    """p / 10000^(2i/D) [places,D/2]."""
    frequencies = np.exp(np.arange(0, dim, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / dim))
    made: NDArray[np.float32] = np.arange(count, dtype=np.float32)[:, None] * frequencies
    return made
