"""Splits of one table into training, validation and test data, by a hash of each source."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from weft.data.datasets.wheels import WheelMember
from weft.data.hashes import hash_lines
from weft.data.pair_files import LinePair

DatasetTables: TypeAlias = Mapping[str, Sequence[tuple[str, ...]]]  # the rows of each file


class DatasetSplits(NamedTuple):
    """Pairs for training and validation. test: rows of a source and its distinct targets, in the dataset's order."""

    train: list[LinePair]
    valid: list[LinePair]
    test: list[tuple[str, ...]]


@dataclass(frozen=True)
class SplitRule:
    """Holds out about `test` and `valid` of every `parts` sources, by a hash of their key.

    Sources with equal keys, such as "Is it YOU?" and "is it you", belong to the same split.
    """

    key: Callable[[str], str]
    key_description: str
    parts: int
    test: int
    valid: int


@dataclass(frozen=True)
class HashSplitter:
    """Reads the lines of one file as pairs and splits them by a hash."""

    read: Callable[[Iterable[str]], Iterator[LinePair]]
    rule: SplitRule

    @property
    def description(self) -> str:
        return (
            f"by a hash of {self.rule.key_description},\n{self.rule.test} of {self.rule.parts} for test and "
            f"{self.rule.valid} for validation: nothing is in two files, and a split never changes"
        )

    def split(self, members: Iterable[WheelMember]) -> DatasetTables:
        pairs = (pair for member in members for pair in self.read(member.lines()))
        train, valid, test = split_dataset(pairs, self.rule)
        return {"train.tsv": train, "valid.tsv": valid, "test.tsv": test}


def split_dataset(pairs: Iterable[LinePair], rule: SplitRule) -> DatasetSplits:
    """Put each source with all its targets into one split; which one depends on its key alone."""
    targets: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        targets.setdefault(source, {})[target] = None
    splits = DatasetSplits([], [], [])
    for source, number in zip(targets, hash_lines(map(rule.key, targets)), strict=True):
        part = int(number) % rule.parts
        if part < rule.test:
            splits.test.append((source, *targets[source]))
        else:
            pairs_of_split = splits.valid if part < rule.test + rule.valid else splits.train
            pairs_of_split += [(source, target) for target in targets[source]]
    return splits
