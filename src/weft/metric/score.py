"""The result of a metric."""

from typing import Literal, NamedTuple, TypeAlias

Better: TypeAlias = Literal["higher", "lower"]


class Interval(NamedTuple):
    """Where a score would lie with other lines of the same kind: 95 % of bootstrap samples have it between these."""

    low: float
    high: float

    def half(self) -> float:
        """What stands after ± in a table."""
        return (self.high - self.low) / 2


class Score(NamedTuple):
    """One number about a corpus, on the scale that people quote, and what one must know to compute it again."""

    name: str
    value: float
    better: Better
    signature: str
    interval: Interval | None = None
    counts: tuple[tuple[str, float], ...] = ()  # what the number was computed from, by name, where that tells something
