"""Weights as whole numbers that the processor cannot spoil.

A processor without instructions for it (VNNI) multiplies bytes two at a time and adds both products in 16 bits, which
end at 32,767: a weight of up to 127 times a number of up to 255 can lead beyond, and the sum is cut there, unseen. With
weights of at most 63 it cannot: 2 x 255 x 63 = 32,130. So a weight has seven bits, unless it is for a processor that is
known to add in 32.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.export.aside import kept_aside

with kept_aside("torch"):
    from ctranslate2.specs.model_spec import NumpyVariable, visit_spec

Bits: TypeAlias = Literal[7, 8]


def use_whole_numbers(specification: Any, bits: Bits) -> None:
    """Every matrix of the specification that has a scale; the rest stays as it is."""

    def put(layer: Any, name: str, value: Any) -> None:
        own = name.rpartition("/")[2]
        if not hasattr(layer, f"{own}_scale"):
            return
        numbers, scale = whole_numbers(value.numpy(), bits)
        setattr(layer, own, NumpyVariable(numbers))
        setattr(layer, f"{own}_scale", NumpyVariable(scale))

    visit_spec(specification, put)


def whole_numbers(weight: NDArray[np.float32], bits: Bits) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[rows,columns] -> numbers and the scale of each row: weight = numbers / scale, within half a step."""
    most = np.float32(greatest(bits))
    least = most / np.finfo(np.float32).max  # of a row that has less, no scale is a number
    found = np.abs(weight).max(1)
    scale = most / np.where(found == 0, most, np.maximum(found, least))
    return np.rint(weight * scale[:, None]).astype(np.int8), scale.astype(np.float32)


def greatest(bits: Bits) -> int:
    """Of the numbers with a sign that have so many bits: as far from zero on both sides."""
    return int(2 ** (bits - 1) - 1)
