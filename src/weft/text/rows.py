"""Rows of positions, one behind the other in one array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """ids: those of all rows [T], or columns of pictures [T,height]; lengths: [n], how many of them each row has."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]

    def select(self, kept: NDArray[np.bool_]) -> Rows:
        """The rows for which `kept` [n] is True."""
        return Rows(self.ids[np.repeat(kept, self.lengths)], self.lengths[kept])

    def split(self) -> list[NDArray[Any]]:
        """Each row by itself."""
        return np.split(self.ids, np.cumsum(self.lengths))[:-1]
