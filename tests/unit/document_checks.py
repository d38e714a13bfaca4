"""Helpers for tests of documents: translations that keep their spans, and damaged copies of a file."""

from collections.abc import Callable, Sequence
from random import Random

from weft.documents.document import Document, DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

SYNTAX = b"*_[]()<>`|#-\\\n\r >!&{}1.~:/\"'="


def read(document_format: DocumentFormat, content: bytes) -> Document:
    return document_format.open(content, DocumentOptions("en", "de"))


def change_words(unit: Unit, change: Callable[[str], str] = str.upper) -> MarkedText:
    """Change the text of a unit outside of its spans."""
    return MarkedText.join(part if isinstance(part, Span) else change(part) for part in unit.text.parts())


def fill(document_format: DocumentFormat, content: bytes, change: Callable[[str], str] = str.upper) -> FilledDocument:
    document = read(document_format, content)
    return document.fill([change_words(unit, change) for unit in document.units])


def texts(document_format: DocumentFormat, content: bytes) -> list[str]:
    return [unit.text.text for unit in read(document_format, content).units]


def mutate(content: bytes, seed: int) -> bytes:
    """Return a damaged copy: parts removed, repeated, or replaced by other characters."""
    rng, damaged = Random(seed), bytearray(content)
    for _ in range(rng.randint(1, 6)):
        position, kind = rng.randrange(len(damaged) + 1), rng.random()
        if kind < 0.3:
            del damaged[position : position + rng.randint(1, 8)]
        elif kind < 0.6:
            damaged[position:position] = bytes(rng.choices(SYNTAX, k=rng.randint(1, 4)))
        elif kind < 0.8:
            start = rng.randrange(len(damaged) + 1)
            damaged[position:position] = damaged[start : start + rng.randint(1, 30)]
        elif position < len(damaged):
            damaged[position] = rng.randrange(256)
    return bytes(damaged)


def check_mutations(document_format: DocumentFormat, content: bytes, count: int = 200) -> int:
    """Check that damaged files raise DocumentError or survive unchanged, filled and read again; return how many did."""
    survivors = 0
    for seed in range(count):
        damaged = mutate(content, seed)
        try:
            document = read(document_format, damaged)
        except DocumentError:
            continue
        survivors += 1
        assert document.fill([unit.text for unit in document.units]).content == damaged
        assert document.fill([None for _ in document.units]).content == damaged
        filled = document.fill([change_words(unit) for unit in document.units])
        again = read(document_format, filled.content)
        assert again.fill([unit.text for unit in again.units]).content == filled.content
    return survivors


def locations(rejected: Sequence[tuple[Unit, str]]) -> list[str]:
    return [unit.location for unit, _ in rejected]
