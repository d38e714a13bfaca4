"""Where a phrase stands in a text as whole words."""

import unicodedata
from collections.abc import Iterator

JOINERS = "\u200c\u200d"  # inside words of Persian and of the scripts of India
UNSPACED = (  # scripts that write no spaces between words: where one ends cannot be seen
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Burmese
    ("\u1780", "\u17ff"),  # Khmer
    ("\u2e80", "\u9fff"),  # Chinese and Japanese
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)


def joins(letter: str) -> bool:
    """Does it make one word with a letter before it? Letters, their accents and digits do, in scripts with spaces.

    No letter ("") makes none.
    """
    if not letter or any(first <= letter <= last for first, last in UNSPACED):
        return False
    return letter.isalnum() or letter in JOINERS or unicodedata.category(letter).startswith("M")


def occurrences(phrase: str, text: str) -> Iterator[tuple[int, int]]:
    """The places (first, end) of a phrase, where neither its first nor its last word goes on beyond it."""
    first = text.find(phrase) if phrase else -1
    while first >= 0:
        end = first + len(phrase)
        if not (_joined(text, first) or _joined(text, end)):
            yield first, end
        first = text.find(phrase, first + 1)


def stands(phrase: str, text: str) -> bool:
    """Is it in the text, as whole words?"""
    return next(occurrences(phrase, text), None) is not None


def _joined(text: str, place: int) -> bool:
    """Is a word on both sides of the place, the same one?"""
    return 0 < place < len(text) and joins(text[place - 1]) and joins(text[place])
