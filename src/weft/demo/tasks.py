"""The demos: one literal table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A score as a person reads it: the metric's name and what it is here."""

    metric: str
    name: str


@dataclass(frozen=True)
class Task:
    """A demo. lengths: held-out examples are shown of so many units (words of a sentence, letters of a word)."""

    title: str
    corpus: str
    minutes: float
    people: str  # what the references are
    scores: tuple[Shown, ...]
    lengths: tuple[int, ...]
    by_letters: bool
    tries: tuple[str, ...]  # inputs of one's own, to be typed next
    picture: str | None  # a sentence whose attention is drawn


TASKS: Mapping[str, Task] = {
    "translate": Task(
        title="A small Transformer learns to translate English into Spanish.",
        corpus="tatoeba-en-es",
        minutes=8,
        people="all their translations by people",
        scores=(Shown("bleu", "BLEU"), Shown("chrf", "chrF")),
        lengths=(5, 7, 8, 9, 10, 12, 14),
        by_letters=False,
        tries=("Where did you learn to cook so well?", "I saw the man with the telescope."),
        picture="I have never seen such a beautiful house.",
    ),
    "pronounce": Task(
        title="A small Transformer learns how English words are pronounced.",
        corpus="cmudict",
        minutes=5,
        people="the nearest of their pronunciations",
        scores=(Shown("wer", "phoneme error rate, %"), Shown("exact", "words without an error, %")),
        lengths=(4, 6, 7, 8, 9, 11, 13),
        by_letters=True,
        tries=("weft", "transformer"),
        picture="thoughtfulness",
    ),
    "spell": Task(
        title="A small Transformer learns to correct misspelled English words.",
        corpus="codespell",
        minutes=5,
        people="their corrections",
        scores=(Shown("exact", "words corrected, %"), Shown("cer", "character error rate, %")),
        lengths=(5, 6, 8, 9, 10, 12, 14),
        by_letters=True,
        tries=("definately", "acomodation"),
        picture="neccessarilly",
    ),
}
