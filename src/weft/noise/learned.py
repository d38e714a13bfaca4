"""The habits of the people who made the mistakes in given pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from weft.core.errors import UserError
from weft.noise.alignment import Mistake, mistakes
from weft.noise.habits import START

FIRM = 20  # times that a place must be seen before its own counts weigh as much as the mean of all places


@dataclass
class Counts:
    """What stands in the right spellings, and what became of it."""

    words: int = 0  # that have a mistake
    mistakes: int = 0
    places: Counter[str] = field(default_factory=Counter)  # a letter, or START
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # a letter (or START), and the one after it
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    swapped: Counter[tuple[str, str]] = field(default_factory=Counter)
    replaced: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    inserted: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, wrong: str, right: str) -> None:
        """Count a word and how it was written; the case does not matter."""
        right, wrong = right.lower(), wrong.lower()
        self.places.update(START + right)
        self.pairs.update(pairwise(START + right))
        made = mistakes(right, wrong)
        self.words += bool(made)
        self.mistakes += len(made)
        for mistake in made:
            self._count(mistake)

    def _count(self, mistake: Mistake) -> None:
        match mistake.kind:
            case "drop":
                self.dropped[mistake.before, mistake.right] += 1
            case "swap":
                self.swapped[mistake.right[0], mistake.right[1]] += 1
            case "replace":
                self.replaced[mistake.right][mistake.wrong] += 1
            case "insert":
                self.inserted[mistake.before][mistake.wrong] += 1


class Learned:
    """The noisy channel of Kernighan, Church and Gale 1990: how often a mistake was made where it could be made.

        P(y dropped after x) = del[x,y] / chars[x,y]      P(y replaced by z) = sub[z,y] / chars[y]
        P(x, y swapped)      = rev[x,y] / chars[x,y]      P(z inserted after x) = add[x,z] / chars[x]

    Rates of places that were hardly seen are drawn towards the mean, or towards 0 where there is none.

    errors: how many mistakes a misspelled word has, in the mean.
    """

    def __init__(self, counts: Counts):
        self.errors = counts.mistakes / counts.words
        self._dropped = _of_pairs(counts.dropped, counts.pairs)
        self._swapped = _of_pairs(counts.swapped, counts.pairs)
        self._any_dropped = counts.dropped.total() / counts.pairs.total()
        self._any_swapped = counts.swapped.total() / counts.pairs.total()
        self._replaced = _of_letters(counts.replaced, counts.places)
        self._inserted = _of_letters(counts.inserted, counts.places)

    def dropping(self, before: str, letter: str) -> float:
        return self._dropped.get((before, letter), self._any_dropped)

    def swapping(self, first: str, second: str) -> float:
        return self._swapped.get((first, second), self._any_swapped)

    def replacing(self, letter: str) -> Mapping[str, float]:
        return self._replaced.get(letter, {})

    def inserting(self, before: str) -> Mapping[str, float]:
        return self._inserted.get(before, {})


def learn_habits(pairs: Iterable[tuple[str, str]], name: str) -> Learned:
    """Learn from pairs of wrong and right spellings, word by word; `name` is what a person calls them.

    Where one side has more words, as in "alot" for "a lot", nobody knows which belongs to which: nothing is learned.
    """
    counts = Counts()
    for wrong, right in pairs:
        written, meant = wrong.split(), right.split()
        if len(written) == len(meant):
            for one, other in zip(written, meant, strict=True):
                counts.add(one, other)
    if not counts.mistakes:
        raise UserError(
            f"{name}: there is nothing to learn from: no word of the first column, where misspellings should stand, "
            "differs from the right word in the second"
        )
    return Learned(counts)


def _of_pairs(made: Counter[tuple[str, str]], seen: Counter[tuple[str, str]]) -> dict[tuple[str, str], float]:
    mean = made.total() / seen.total()
    return {pair: (made[pair] + FIRM * mean) / (times + FIRM) for pair, times in seen.items()}


def _of_letters(made: Mapping[str, Counter[str]], seen: Counter[str]) -> dict[str, dict[str, float]]:
    return {
        letter: {other: count / (seen[letter] + FIRM) for other, count in others.items()}
        for letter, others in made.items()
    }
