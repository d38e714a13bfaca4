"""Law 4: positional encodings equal the equations of their papers."""

import numpy as np
import torch
from torch.testing import assert_close

from laws.numpy_reference import array, sequence
from weft.nn.positional_encoding import SinusoidalPositions, apply_rotary


def test_sinusoidal_positions_equal_paper_equation() -> None:
    table = array(SinusoidalPositions(6).double()(torch.arange(50)[None])[0])
    for p in (0, 1, 49):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            np.testing.assert_allclose(table[p, [2 * i, 2 * i + 1]], [np.sin(angle), np.cos(angle)], atol=1e-5)


def test_rotary_products_depend_on_distance_only() -> None:
    query, key = sequence(1, 1, 8).data[None], sequence(1, 2, 8).data[None, :, 1:]
    products = [(apply_rotary(query, p) * apply_rotary(key, p + 3)).sum() for p in (0, 1, 20)]
    assert_close(products[1], products[0])
    assert_close(products[2], products[0])
    assert (products[0] - (apply_rotary(query, 0) * apply_rotary(key, 4)).sum()).abs() > 1e-3
