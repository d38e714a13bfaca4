"""What the lines of a corpus are like: sentences, single words, or symbols from a small set."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from weft.text.settings import draw_sample

Kind = Literal["sentences", "words", "symbols"]

SAMPLE = 10_000  # pairs that are looked at; all are counted
SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # in Unicode's names of letters


@dataclass(frozen=True)
class Side:
    """What is known of one side. Words are what white space separates."""

    words: float  # a line
    letters: float  # a line
    kinds: int  # different words
    uses: float  # of a word, in the mean
    spaceless: float  # the share of letters from scripts that put no spaces between words
    alphabet: frozenset[str]

    @property
    def kind(self) -> Kind:
        """Symbols: few different ones, each short and used often, as phones are. Words: hardly ever a space."""
        short = self.letters < 5 * self.words
        if self.kinds <= 200 and self.uses >= 50 and self.words >= 2.5 and short:
            return "symbols"
        if self.spaceless > 0.5:
            return "words" if self.letters < 6 else "sentences"
        return "words" if self.words < 1.5 else "sentences"


@dataclass(frozen=True)
class Facts:
    """What is known of a corpus."""

    pairs: int
    source: Side
    target: Side

    @property
    def shared_letters(self) -> float:
        """The share of the smaller alphabet that the other side uses too."""
        smaller, larger = sorted((self.source.alphabet, self.target.alphabet), key=len)
        return len(smaller & larger) / max(1, len(smaller))


def look(pairs: Iterable[tuple[str, str]], seed: int) -> Facts:
    """Count all pairs and look at some, drawn at random."""
    counter = _Counter(pairs)
    sample = draw_sample(iter(counter), SAMPLE, seed)
    return Facts(counter.count, _side([source for source, _ in sample]), _side([target for _, target in sample]))


class _Counter:
    def __init__(self, pairs: Iterable[tuple[str, str]]):
        self._pairs = pairs
        self.count = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for pair in self._pairs:
            self.count += 1
            yield pair


def _side(lines: Sequence[str]) -> Side:
    lines = [line for line in lines if line.strip()] or [""]
    words = Counter(chain.from_iterable(line.split() for line in lines))
    letters = Counter(chain.from_iterable(line.casefold() for line in lines if line))
    alphabet = Counter({letter: count for letter, count in letters.items() if letter.isalpha()})
    spaceless = sum(count for letter, count in alphabet.items() if unicodedata.name(letter, "").startswith(SPACELESS))
    return Side(
        words=words.total() / len(lines),
        letters=letters.total() / len(lines),
        kinds=len(words),
        uses=words.total() / max(1, len(words)),
        spaceless=spaceless / max(1, alphabet.total()),
        alphabet=frozenset(letter for letter, count in alphabet.items() if count >= alphabet.total() / 10_000),
    )
