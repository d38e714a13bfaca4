"""Mistakes in lines, drawn at random."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from random import Random

from weft.core.randomness import seed_for
from weft.noise.habits import Habits, misspellings

WORD = re.compile(r"\S+")
KEPT = 256  # words whose misspellings are kept, for the next copy of a line


class Noise:
    """Misspells the words of lines, as a writer of these habits would.

    errors: how many mistakes a misspelled word has, in the mean: one, and after each another one with the same chance;
    but not more than half as many as it has letters. clean: the share of words that are left as they are.

    Every draw is f(seed, number of the line, number of the copy).
    """

    def __init__(self, habits: Habits, *, errors: float = 1.2, clean: float = 0.1, seed: int = 1):
        self.errors, self.clean, self.seed = errors, clean, seed
        self._options = lru_cache(KEPT)(lambda spelling, word: options(spelling, word, habits))

    def __call__(self, line: str, number: int, copy: int) -> str:
        """The line with mistakes in its words; the white space between them stays."""
        draws = Random(seed_for(self.seed, "noise", number, copy))  # noqa: S311 (not for secrets)
        return WORD.sub(lambda found: self._word(found[0], draws), line)

    def _word(self, word: str, draws: Random) -> str:
        if draws.random() < self.clean:
            return word
        spelling = word
        for _ in range(self._mistakes(word, draws)):
            spellings, rates = self._options(spelling, word)
            if spellings:
                (spelling,) = draws.choices(spellings, cum_weights=rates)
        return spelling

    def _mistakes(self, word: str, draws: Random) -> int:
        """How many: geometrically distributed, P(n) = (1 / errors) (1 - 1 / errors)^(n - 1)."""
        count = 1
        while count < len(word) // 2 and draws.random() < 1 - 1 / self.errors:
            count += 1
        return count


def options(spelling: str, word: str, habits: Habits) -> tuple[list[str], list[float]]:
    """What one more mistake can make of a spelling, and the rates, summed up; two mistakes never make a right word."""
    rates = misspellings(spelling, habits)
    rates.pop(word, None)
    return list(rates), list(accumulate(rates.values()))
