"""Numbers in rows and columns, with everything that a picture of them says."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]


class Grid(NamedTuple):
    """values [R,C], from 0 up, with the names of their rows and columns."""

    title: tuple[str, ...]  # each wrapped
    remarks: tuple[str, ...]  # a line each, below the title
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Numbers
    scale: str  # what the values are
    darkest: float | None = None  # the value that is drawn darkest (None: the largest there is)
