"""Word boundaries: where a phrase occurs in a text as whole words."""

import unicodedata
from collections.abc import Iterator

JOINERS = "\u200c\u200d"  # part of words in Persian and in Indic scripts
UNSPACED_SCRIPTS = (  # scripts without spaces between words, where any position may be a boundary
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Burmese
    ("\u1780", "\u17ff"),  # Khmer
    ("\u2e80", "\u312f"),  # Chinese and Japanese, without the Korean letters that follow
    ("\u3190", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\uff66", "\uff9f"),  # half-width katakana
    ("\U00020000", "\U0003ffff"),
)


def continues_word(char: str) -> bool:
    """Whether a character belongs to the same word as a letter next to it: letters, digits, joiners and combining marks
    do; "" and scripts without spaces do not.
    """
    if not char or any(first <= char <= last for first, last in UNSPACED_SCRIPTS):
        return False
    return char.isalnum() or char in JOINERS or unicodedata.category(char).startswith("M")


def phrase_occurrences(phrase: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans (first, end) of a phrase that start and end at word boundaries."""
    first = text.find(phrase) if phrase else -1
    while first >= 0:
        end = first + len(phrase)
        if not (_is_inside_word(text, first) or _is_inside_word(text, end)):
            yield first, end
        first = text.find(phrase, first + 1)


def contains_phrase(phrase: str, text: str) -> bool:
    return next(phrase_occurrences(phrase, text), None) is not None


def _is_inside_word(text: str, index: int) -> bool:
    if not 0 < index < len(text):
        return False
    is_mark = unicodedata.category(text[index]).startswith("M")  # an accent or vowel sign belongs to what precedes it
    return is_mark or (continues_word(text[index - 1]) and continues_word(text[index]))
