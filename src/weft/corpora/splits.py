"""Training, validation and test: which source goes where is fixed forever by a hash, so that nothing leaks or moves."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from weft.corpora.formats import Pair
from weft.data.hashes import hash_lines


@dataclass(frozen=True)
class Division:
    """How a corpus is split: of `parts` sources about `test` and `valid` are held out.

    Sources with equal keys, such as "Is it YOU?" and "is it you", go to the same split.
    """

    key: Callable[[str], str]
    by: str  # the key in plain words
    parts: int
    test: int
    valid: int


class Example(NamedTuple):
    """A source and all its different targets, in the order of the corpus."""

    source: str
    targets: tuple[str, ...]

    def pairs(self) -> Iterator[Pair]:
        return ((self.source, target) for target in self.targets)


class Splits(NamedTuple):
    """Pairs to learn from and to validate with, and examples to test with."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Example]


def split(pairs: Iterable[Pair], division: Division) -> Splits:
    """Each source with all its targets in one of the splits, by the hash of its key."""
    examples = group(pairs)
    splits = Splits([], [], [])
    for example, number in zip(examples, hash_lines(division.key(example.source) for example in examples), strict=True):
        part = int(number) % division.parts
        if part < division.test:
            splits.test.append(example)
        elif part < division.test + division.valid:
            splits.valid.extend(example.pairs())
        else:
            splits.train.extend(example.pairs())
    return splits


def group(pairs: Iterable[Pair]) -> list[Example]:
    """Each source once, as it is written."""
    targets: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        targets.setdefault(source, {})[target] = None
    return [Example(source, tuple(different)) for source, different in targets.items()]


def letters_of(word: str) -> str:
    """The letters and digits of a word, whatever its case: "dog's" is spoken as "dogs", and would give it away."""
    return "".join(letter for letter in word.casefold() if letter.isalnum())
