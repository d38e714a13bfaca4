"""The pairs in the files that corpora come in: a function a format."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Pair: TypeAlias = tuple[str, str]


def read_tatoeba(lines: Iterable[str]) -> Iterator[Pair]:
    """A sentence, its translation, and who wrote them, with tabs between."""
    for line in lines:
        sentence, translation, _attribution = line.split("\t")
        yield sentence, translation


def read_cmudict(lines: Iterable[str]) -> Iterator[Pair]:
    """`dail(2) D OY1 L # org, irish` is ("dail", "D OY L"): without the number of the variant, stress and comment."""
    for line in lines:
        word, *phones = line.partition("#")[0].split()
        yield word.partition("(")[0], " ".join(phone.rstrip("012") for phone in phones)


def read_codespell(lines: Iterable[str]) -> Iterator[Pair]:
    """`teh->the`; a line with a comma has several corrections, or a reason to make none, and is passed over."""
    for line in lines:
        wrong, _, right = line.partition("->")
        if "," not in right:
            yield wrong, right
