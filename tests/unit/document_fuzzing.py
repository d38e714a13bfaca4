"""Reversible translations of documents, and damaged copies of them."""

import random
from collections.abc import Callable, Iterator, Sequence

from weft.core.errors import UserError
from weft.documents.document import Document, DocumentFormat, DocumentOptions, Unit
from weft.text.marked_text import MarkedText

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROTATED = str.maketrans(LETTERS + LETTERS.upper(), (LETTERS[13:] + LETTERS[:13]) * 2)
ROTATED |= str.maketrans(LETTERS.upper(), (LETTERS[13:] + LETTERS[:13]).upper())
OPTIONS = DocumentOptions("en", "es")


def rotate(text: MarkedText) -> MarkedText:
    """Return a translation that has the same spans; translating it again returns the text."""
    return MarkedText.join(part.translate(ROTATED) if isinstance(part, str) else part for part in text.parts())


def fill(document: Document, translate: Callable[[MarkedText], MarkedText] = rotate) -> bytes:
    """Return the document with all units translated; none may be rejected."""
    filled = document.fill([translate(unit.text) for unit in document.units])
    assert filled.rejected == ()
    return filled.content


def texts(units: Sequence[Unit]) -> list[str]:
    return [unit.text.text for unit in units]


def mutations(content: bytes, count: int = 200, seed: int = 1) -> Iterator[bytes]:
    """Yield copies with some bytes changed, removed, repeated or moved."""
    draws = random.Random(seed)
    for _ in range(count):
        damaged = content
        for _ in range(draws.randint(1, 4)):
            first = draws.randrange(len(damaged))
            end = min(len(damaged), first + draws.randint(1, 30))
            part, target = damaged[first:end], draws.randrange(len(damaged))
            damaged = draws.choice(
                [
                    damaged[:first] + bytes([draws.randrange(256)]) + damaged[first + 1 :],
                    damaged[:first] + damaged[end:],
                    damaged[:target] + part + damaged[target:],
                    damaged[:first] + bytes(draws.choice(b"<>&\"'/= ") for _ in part) + damaged[end:],
                    damaged[: max(first, 1)],
                ]
            )
            damaged = damaged or b"<"
        yield damaged


def count_accepted(document_format: DocumentFormat, content: bytes, parse: Callable[[bytes], object]) -> int:
    """Return how many of 200 damaged files are accepted.

    An independent reader, which may raise ValueError or SyntaxError, must read what was filled if it reads the file.
    """
    accepted = 0
    for damaged in mutations(content):
        try:
            document = document_format.open(damaged, OPTIONS)
            parse(damaged)
        except (UserError, ValueError, SyntaxError):
            continue
        parse(document.fill([rotate(unit.text) for unit in document.units]).content)
        accepted += 1
    return accepted
