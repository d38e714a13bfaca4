"""Marks of accelerator keys in menus and buttons: "&File" of Qt and Windows, "_File" of GTK.

They are removed before translation; the translation gets a mark before its first letter, or "(&F)" at the end if its
script has no such keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from weft.text.marked_text import MarkedText
from weft.text.span_patterns import find_spans

MIN_COUNT, MIN_SHARE = 3, 0.02
MAX_LENGTH = 30  # of a text with a mark inside of a word, as in "E_xit"; in longer ones it belongs to a name
MARKS: Mapping[str, re.Pattern[str]] = {mark: re.compile(rf"(?<!{mark}){mark}(?=[^\W\d_])") for mark in "&_"}
APPENDED = re.compile(r"\s?\([&_]\w\)")
ENDING = re.compile(r"[\s.…:：]*+$")


def find_accelerator_mark(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the mark that texts of a catalog have, and half of their translations too; "" if there is none."""
    for mark in MARKS:
        marked = [target for source, target in pairs if _mark_offset(source, mark) is not None]
        translated = [target for target in marked if target]
        carried = sum(_mark_offset(target, mark) is not None for target in translated)
        if len(marked) >= max(MIN_COUNT, MIN_SHARE * len(pairs)) and 2 * carried >= len(translated):
            return mark
    return ""


def remove_accelerator(text: str, mark: str) -> tuple[str, str]:
    """Return the text without its mark, and the letter that it marks or ""."""
    offset = _mark_offset(text, mark) if mark else None
    if offset is None:
        return text, ""
    letter = text[offset + 1]
    without = APPENDED.sub("", text, count=1)
    return (without if without != text else text[:offset] + text[offset + 1 :]), letter


def place_accelerator(translation: MarkedText, mark: str, letter: str) -> MarkedText:
    """Return the translation with a mark before its first letter outside of spans."""
    parts, is_placed = list(translation.parts()), False
    for number, part in enumerate(parts):
        if not isinstance(part, str) or is_placed:
            continue
        offset = next((index for index, char in enumerate(part) if char.lower() != char.upper()), None)
        if offset is not None:
            parts[number] = f"{part[:offset]}{mark}{part[offset:]}"
            is_placed = True
    if not is_placed and parts and isinstance(parts[-1], str):
        parts[-1] = ENDING.sub(lambda ending: f"({mark}{letter.upper()}){ending[0]}", parts[-1], count=1)
    return MarkedText.join(parts)


def _mark_offset(text: str, mark: str) -> int | None:
    """Return the offset of the only mark outside of spans, if it is clear that it is one."""
    if mark not in text:
        return None
    spans = find_spans(text, ("markup", "urls", "emails", "placeholders"))
    inside = {offset for span in spans for offset in range(span.first, span.end)}
    found = [match.start() for match in MARKS[mark].finditer(text) if match.start() not in inside]
    if len(found) != 1:
        return None
    starts_word = found[0] == 0 or not text[found[0] - 1].isalnum()
    return found[0] if starts_word or len(text) <= MAX_LENGTH else None
