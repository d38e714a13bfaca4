"""Profile a corpus: number of pairs, and for each side whether its lines are sentences, words or symbols, their
lengths and alphabet.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from weft.core.seeds import reservoir_sample
from weft.text.sentences import SentenceSplitter

LineKind = Literal["sentences", "words", "symbols"]

PROFILE_SAMPLE = 10_000  # pairs; all are counted
SPLIT_SAMPLE = 500  # lines that are split into sentences, which is slow
SPACELESS_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # prefixes of Unicode names


@dataclass(frozen=True)
class SideProfile:
    """Statistics of one side; words are separated by white space."""

    words: float  # per line
    letters: float  # per line
    distinct_words: int
    uses_per_word: float
    spaceless: float  # share of letters from scripts without spaces between words
    alphabet: frozenset[str]
    several_sentences: float = 0.0  # share of lines with more than one sentence

    @property
    def kind(self) -> LineKind:
        """Symbols are few, short and frequent, such as phones; lines of the kind words hardly ever have a space."""
        short = self.letters < 5 * self.words
        if self.distinct_words <= 200 and self.uses_per_word >= 50 and self.words >= 2.5 and short:
            return "symbols"
        if self.spaceless > 0.5:
            return "words" if self.letters < 6 else "sentences"
        return "words" if self.words < 1.5 else "sentences"


@dataclass(frozen=True)
class CorpusProfile:
    pairs: int
    source: SideProfile
    target: SideProfile

    @property
    def shared_letters(self) -> float:
        """The share of the smaller alphabet that the other side uses too."""
        smaller, larger = sorted((self.source.alphabet, self.target.alphabet), key=len)
        return len(smaller & larger) / max(1, len(smaller))


def profile_corpus(pairs: Iterable[tuple[str, str]], seed: int) -> CorpusProfile:
    """Count all pairs, and profile a random sample of them."""
    count = 0

    def counted() -> Iterator[tuple[str, str]]:
        nonlocal count
        for pair in pairs:
            count += 1
            yield pair

    sample = reservoir_sample(counted(), PROFILE_SAMPLE, seed)
    source, target = (_profile_side([pair[side] for pair in sample]) for side in (0, 1))
    return CorpusProfile(count, source, target)


def _profile_side(lines: Sequence[str]) -> SideProfile:
    lines = [line for line in lines if line.strip()] or [""]
    words = Counter(chain.from_iterable(line.split() for line in lines))
    letters = Counter(chain.from_iterable(line.casefold() for line in lines if line))
    alphabet = Counter({letter: count for letter, count in letters.items() if letter.isalpha()})
    spaceless = sum(
        count for letter, count in alphabet.items() if unicodedata.name(letter, "").startswith(SPACELESS_SCRIPTS)
    )
    return SideProfile(
        words=words.total() / len(lines),
        letters=letters.total() / len(lines),
        distinct_words=len(words),
        uses_per_word=words.total() / max(1, len(words)),
        spaceless=spaceless / max(1, alphabet.total()),
        several_sentences=_share_of_several_sentences(lines[:SPLIT_SAMPLE]),
        alphabet=frozenset(letter for letter, count in alphabet.items() if count >= alphabet.total() / 10_000),
    )


def _share_of_several_sentences(lines: Sequence[str]) -> float:
    splitter = SentenceSplitter()
    return sum(len(splitter(line).sentences) > 1 for line in lines) / len(lines)
