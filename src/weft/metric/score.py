"""The result of a metric."""

from typing import Literal, NamedTuple


class Score(NamedTuple):
    """One number about a corpus, on the scale that people quote, and what one must know to compute it again."""

    name: str
    value: float
    better: Literal["higher", "lower"]
    signature: str
