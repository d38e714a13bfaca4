"""Which pairs are used in training, and why the others are not."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ANY_RATIO = 10  # pairs of up to so many tokens a side may have any ratio
NO_RATIO = 1e9  # and others, where it is not asked

KEPT = 0
REASONS = ("empty", "duplicate", "too long", "bad ratio")  # a verdict is 0 for kept, else the reason's number from 1


class Filters(NamedTuple):
    """The part of `Data` that decides which pairs are kept."""

    max_length: int
    max_ratio: float
    drop_duplicates: bool

    def verdicts(
        self, lengths: NDArray[np.int64], empty: NDArray[np.bool_], repeated: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """[n], from lengths [n,2], whether a side is empty [n] and whether the pair came before [n]."""
        longer, shorter = lengths.max(1), lengths.min(1)
        causes = (  # the first that holds counts
            empty | (shorter == 0),
            repeated & self.drop_duplicates,
            longer > self.max_length,
            longer > np.maximum(ANY_RATIO, self.max_ratio * shorter),
        )
        return np.select(causes, np.arange(1, len(causes) + 1, dtype=np.uint8), np.uint8(KEPT))
