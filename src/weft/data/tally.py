"""What was counted while a corpus was read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SideTally:
    """Tokens of one side of the kept pairs, and how many of them are unknown or single bytes."""

    tokens: int
    unknown: int
    bytes: int
    has_bytes: bool  # bytes stand in for what was never seen, so nothing is unknown


@dataclass(frozen=True)
class Looked:
    """What was found in some of the pairs: how many were looked at, and of each kind of problem, how many have it."""

    pairs: int
    found: dict[str, int]  # names as in kinds.py


@dataclass(frozen=True)
class Tally:
    """How many pairs were read, why some were dropped, what the kept ones hold, how many are of each corpus, and what
    a look at some of those that were read has found.
    """

    read: int
    dropped: dict[str, int]  # reason -> pairs
    source: SideTally
    target: SideTally
    corpora: list[int]  # pairs kept of each
    looked: Looked

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Tally:
        sides = SideTally(**value["source"]), SideTally(**value["target"])
        return cls(value["read"], value["dropped"], *sides, value["corpora"], Looked(**value["looked"]))
