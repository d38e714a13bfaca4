"""Mutated files of app strings and catalogs: they are refused with a message, or filled to a file that can be read."""

from random import Random

import pytest

from unit.test_app_strings import SAMPLES, change_text
from unit.test_po_files import CATALOG, TEMPLATE
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions
from weft.documents.po_files import PO_FORMAT

MUTANTS = 200
OPTIONS = DocumentOptions("en", "ru", overwrite=True)
CONTENTS: dict[str, tuple[DocumentFormat, bytes]] = {
    **{name: (sample.format, sample.content) for name, sample in SAMPLES.items()},
    "po": (PO_FORMAT, CATALOG.encode()),
    "pot": (PO_FORMAT, TEMPLATE.encode()),
}


def mutate(content: bytes, draws: Random) -> bytes:
    """Change one to three places: flip bits of a byte, cut, or repeat."""
    for _ in range(draws.randint(1, 3)):
        first, end = sorted(draws.randrange(len(content) + 1) for _ in range(2))
        flipped = bytes([content[first] ^ (1 << draws.randrange(8))]) if first < len(content) else b""
        new, end = draws.choice([(flipped, first + 1), (b"", end), (content[first:end] * 2, end), (b"", len(content))])
        content = content[:first] + new + content[end:]
    return content


@pytest.mark.parametrize("name", CONTENTS)
def test_mutated_files_are_refused_or_filled(name: str) -> None:
    kind, content = CONTENTS[name]
    draws, refused = Random(1), 0
    for _ in range(MUTANTS):
        mutant = mutate(content, draws)
        try:
            document = kind.open(mutant, OPTIONS)
        except DocumentError:
            refused += 1
            continue
        assert document.fill([None] * len(document.units)).content == mutant
        filled = document.fill([change_text(unit.text, str.upper) for unit in document.units])
        again = kind.open(filled.content, OPTIONS)
        assert len(again.units) == len(document.units)
        translated = again.fill([change_text(unit.text, str.upper) for unit in again.units])
        assert translated.content == filled.content
    assert refused < MUTANTS
