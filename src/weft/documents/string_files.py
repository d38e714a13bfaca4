"""What files of keys and strings have in common: each value is a unit, written with the escapes that the file uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from weft.documents.decoded_text import DecodedText
from weft.documents.document import Unit
from weft.documents.slot_document import MAX_UNIT_LENGTH, TOO_LONG, UNTRANSLATABLE, Slot, SlotDocument, line_number
from weft.documents.string_escapes import EscapedString, EscapeStyle
from weft.documents.translatable_text import (
    core_range,
    is_translatable,
    mark_spans,
    percent_escape,
    reject_translation,
)
from weft.text.marked_text import MarkedText


class KeyedString(NamedTuple):
    """A key, and the range of its value in the file. doubles_apostrophes: as java.text.MessageFormat requires."""

    key: str
    first: int
    end: int
    doubles_apostrophes: bool = False


class StringReader:
    """Collects the units of a file with a syntax of escapes."""

    def __init__(
        self, file: DecodedText, style: EscapeStyle, pattern: re.Pattern[str], unescape: Callable[[re.Match[str]], str]
    ) -> None:
        self._file, self._style, self._pattern, self._unescape = file, style, pattern, unescape
        self._doubled = re.compile(rf"{pattern.pattern}|''", pattern.flags)
        self._slots, self._skipped = list[Slot](), Counter[str]()

    def read(self, strings: Iterable[KeyedString]) -> SlotDocument:
        line = (0, 1)
        for string in strings:
            line = line_number(self._file.text, string.first, line)
            self._add(string, f"line {line[1]} ({string.key[:100]})")
        return SlotDocument(self._file, self._slots, dict(self._skipped))

    def _add(self, string: KeyedString, location: str) -> None:
        if string.end - string.first > MAX_UNIT_LENGTH:
            self._skipped[TOO_LONG] += 1
            return
        pattern = self._doubled if string.doubles_apostrophes else self._pattern
        value = EscapedString.decode(self._file.text, string.first, string.end, pattern, self._unescape)
        first, end = core_range(value.text)
        marked = mark_spans(value.text[first:end])
        if not is_translatable(marked):
            self._skipped[UNTRANSLATABLE] += 1
            return
        render = partial(self._render, marked, string.doubles_apostrophes)
        reject = partial(reject_translation, marked)
        self._slots.append(Slot(Unit(marked, location), value.offsets[first], value.offsets[end], render, reject))

    def _render(self, source: MarkedText, doubles_apostrophes: bool, translation: MarkedText) -> str:
        text = translation.render(percent_escape(source)).strip()
        return self._style.escape(text.replace("'", "''") if doubles_apostrophes else text)
