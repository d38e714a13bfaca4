"""Some of the pairs of a corpus, always the same: whether a pair is among them depends on its source alone."""

from __future__ import annotations

from dataclasses import dataclass

from weft.data.hashes import hash_lines


@dataclass(frozen=True)
class Part:
    """The pairs that are held out of a corpus (`share` of all, 0 to 1), or all the others.

    A hash of the source line decides, whatever its case and spaces, so that no sentence is in both parts.
    """

    share: float
    held_out: bool

    def has(self, source: str) -> bool:
        (number,) = hash_lines([" ".join(source.casefold().split())])
        return (int(number) < self.share * 2**64) == self.held_out
