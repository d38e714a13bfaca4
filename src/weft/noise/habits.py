"""How a writer goes wrong, and the spellings that come of it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

START = "\n"  # stands before the first letter of a word; no word can contain it


class Habits(Protocol):
    """The rate of each mistake where it can be made, compared with all others. Letters are small ones.

    `before` is the letter that the place of the mistake follows, or START.
    """

    def dropping(self, before: str, letter: str) -> float: ...

    def swapping(self, first: str, second: str) -> float: ...

    def replacing(self, letter: str) -> Mapping[str, float]:
        """By which letters, each with its rate."""
        ...

    def inserting(self, before: str) -> Mapping[str, float]:
        """Which letters, each with its rate."""
        ...


def misspellings(word: str, habits: Habits) -> dict[str, float]:
    """Every spelling that one mistake makes of a word, and its rate; never the word itself, and never nothing."""
    letters = [START, *map(str.lower, word)]
    rates: dict[str, float] = defaultdict(float)
    for mistakes in (_dropped, _swapped, _replaced, _inserted):
        for spelling, rate in mistakes(word, letters, habits):
            rates[spelling] += rate
    return {spelling: rate for spelling, rate in rates.items() if rate > 0 and spelling not in ("", word)}


def _dropped(word: str, letters: Sequence[str], habits: Habits) -> Iterator[tuple[str, float]]:
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :], habits.dropping(letters[place], letters[place + 1])


def _swapped(word: str, letters: Sequence[str], habits: Habits) -> Iterator[tuple[str, float]]:
    """A capital and a small letter stay: "oLndon" is no mistake that is made."""
    for place in range(len(word) - 1):
        first, second = word[place], word[place + 1]
        if first.isupper() == second.isupper():
            rate = habits.swapping(letters[place + 1], letters[place + 2])
            yield word[:place] + second + first + word[place + 2 :], rate


def _replaced(word: str, letters: Sequence[str], habits: Habits) -> Iterator[tuple[str, float]]:
    for place, letter in enumerate(word):
        for other, rate in habits.replacing(letters[place + 1]).items():
            yield word[:place] + _cased(other, letter) + word[place + 1 :], rate


def _inserted(word: str, letters: Sequence[str], habits: Habits) -> Iterator[tuple[str, float]]:
    for place in range(len(word) + 1):
        beside = word[place : place + 1] or word[-1:]
        for other, rate in habits.inserting(letters[place]).items():
            yield word[:place] + _cased(other, beside) + word[place:], rate


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter
