"""Rows of ids, one behind the other in one array."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """ids: those of all rows; lengths: [n], how many of them each row has."""

    ids: NDArray[np.uint32]
    lengths: NDArray[np.int64]

    def select(self, kept: NDArray[np.bool_]) -> Rows:
        """The rows for which `kept` [n] is True."""
        return Rows(self.ids[np.repeat(kept, self.lengths)], self.lengths[kept])
