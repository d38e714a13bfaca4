"""Some of the pairs of a corpus, always the same: whether a pair is among them depends on its source alone."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from weft.data.hashes import hash_lines


@dataclass(frozen=True)
class Part:
    """The pairs that are held out of a corpus (`share` of all, 0 to 1), or all the others.

    A hash of the source line's words decides, so that no sentence is in both parts.
    """

    share: float
    held_out: bool

    def has(self, source: str) -> bool:
        (number,) = hash_lines([words_of(source)])
        return (int(number) < self.share * 2**64) == self.held_out


def words_of(sentence: str) -> str:
    """The words of a sentence, whatever its case, spaces and punctuation: "is it you"."""
    composed = unicodedata.normalize("NFC", sentence).casefold()
    letters = "".join(letter if letter.isalnum() else " " for letter in composed)
    return " ".join(letters.split())
