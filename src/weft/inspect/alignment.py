"""Which part of the source each part of a translation looked at."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Weights: TypeAlias = NDArray[np.float64]  # [T,S], a row's sum is 1


class Alignment(NamedTuple):
    """The weights [T,S] with the names of their rows and columns: words or pieces, the end mark last."""

    sentence: str
    translation: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Weights
    remarks: tuple[str, ...]  # what a reader should know: whose weights they are, and whether the sentence was cut
