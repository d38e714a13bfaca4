"""Weights as whole numbers that no processor can spoil.

Processors without instructions for it (VNNI) multiply bytes two at a time and add both products in 16 bits, which end
at 32,767: a weight of up to 127 times a number of up to 255 can lead beyond, and the sum is cut there, unseen. With
weights of at most 63 it cannot: 2 x 255 x 63 = 32,130. So a weight has seven bits here, whatever processor will use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.export.aside import kept_aside

with kept_aside("torch"):
    from ctranslate2.specs.model_spec import NumpyVariable, visit_spec

MOST = 63
LEAST_ROW = np.float32(MOST) / np.finfo(np.float32).max  # of a row that has less, no scale is a number


def use_seven_bits(specification: Any) -> None:
    """Every matrix of the specification that has a scale; the rest stays as it is."""
    visit_spec(specification, _put_whole)


def whole_numbers(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[rows,columns] -> numbers and the scale of each row: weight = numbers / scale, within half a step."""
    greatest = np.abs(weight).max(1)
    scale = MOST / np.where(greatest == 0, np.float32(MOST), np.maximum(greatest, LEAST_ROW))
    return np.rint(weight * scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _put_whole(layer: Any, name: str, value: Any) -> None:
    own = name.rpartition("/")[2]
    if not hasattr(layer, f"{own}_scale"):
        return
    numbers, scale = whole_numbers(value.numpy())
    setattr(layer, own, NumpyVariable(numbers))
    setattr(layer, f"{own}_scale", NumpyVariable(scale))
