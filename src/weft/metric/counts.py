"""What a metric counts in each line: scores of any set of lines follow from the sums."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]


class Counts(NamedTuple):
    """Sufficient statistics: the score of some lines is `value` of the sum of their rows.

    So the lines of a bootstrap sample, those of one length, or a single one are scored without being read again.
    """

    rows: Numbers  # [L,K], a row for each line
    value: Callable[[Numbers], float]  # of a sum of rows, [K]
    signature: str  # what one must know to count so again
    columns: tuple[str, ...] = ()  # names of the K numbers, where people know them

    def score(self) -> float:
        """Of all lines."""
        return self.value(self.rows.sum(0))

    def score_of(self, lines: NDArray[np.bool_] | NDArray[np.intp]) -> float:
        """Of these lines: a mask [L], or their numbers, of which one may come several times."""
        return self.value(self.rows[lines].sum(0))

    def sentence_scores(self) -> Numbers:
        """Of each line by itself, [L]."""
        return np.array([self.value(row) for row in self.rows])

    def named(self) -> tuple[tuple[str, float], ...]:
        """The sums over all lines, by their names."""
        return tuple(zip(self.columns, self.rows.sum(0).tolist(), strict=True)) if self.columns else ()


def percent(part: float, whole: float, empty: float = 0.0) -> float:
    """100 part / whole; `empty` where there is nothing to take a part of."""
    return 100 * part / whole if whole else empty
