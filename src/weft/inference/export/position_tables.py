"""Sinusoidal and rotary positions, as in the torch model; a file of its own, since it needs no export library."""

import numpy as np
from numpy.typing import NDArray

from weft.checkpoints.model_folder import ModelFolder

LAYER_NORM_EPSILON = 1e-5  # of nn.LayerNorm


def position_count(model: ModelFolder) -> int:
    """The positions of the longest source and output, special tokens included."""
    longest = model.max_source_length + 1
    return max(longest, model.max_output_length(longest) + 1)


def sinusoidal_table(count: int, dim: int) -> NDArray[np.float32]:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)) [positions,D]."""
    angles = _position_angles(count, dim)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(count, dim)


def rotary_tables(count: int, dim: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosine and sine of the angles of rotary positions [positions,D/2]."""
    angles = _position_angles(count, dim)
    return np.cos(angles), np.sin(angles)


def _position_angles(count: int, dim: int) -> NDArray[np.float32]:
    """p / 10000^(2i/D) [positions,D/2]."""
    frequencies = np.exp(np.arange(0, dim, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / dim))
    angles: NDArray[np.float32] = np.arange(count, dtype=np.float32)[:, None] * frequencies
    return angles
