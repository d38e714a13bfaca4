"""A picture as a model reads it, and which of its columns each part of what the model makes of it stands for."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded

TRIED = 64  # columns: a multiple of what any encoder makes one of


class Seen(NamedTuple):
    """ink [H,T]: 0 is paper, 255 is ink; the empty column at the end of every picture is the last.

    columns: how many of them are one part (a position of the memory, or a frame); less than 1 if a column is several.
    """

    ink: NDArray[np.uint8]
    columns: float


def see(source: Padded, parts: Callable[[Padded], Tensor]) -> Seen:
    """The picture `source` [1,T,H]. parts: of such a picture, the mask [1,F] of what the model makes of it.

    How many columns are a part is found by reading, as encoders can be chained: empty pictures of two lengths.
    """
    some, twice = (parts(empty(source, columns)).shape[1] for columns in (TRIED, 2 * TRIED))
    if twice != 2 * some:
        raise UserError(
            f"of {TRIED} columns this model makes {some} positions, and {twice} of twice as many: which of them belong "
            "to which columns of a picture cannot be told"
        )
    return Seen(source.data[0].T.cpu().numpy(), TRIED / some)


def empty(source: Padded, columns: int) -> Padded:
    """A picture of paper, as high as the source."""
    return Padded.whole(source.data.new_zeros(1, columns, source.data.shape[2]))
