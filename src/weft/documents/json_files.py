"""JSON files of app strings: nested objects of i18next and others, ARB of Flutter, messages.json of web extensions.

String values are units, keys stay. The file is in the source language; filled, it is the file of the target language.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from weft.documents.decoded_text import DecodedText, decode_document
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, Unit
from weft.documents.icu_messages import ARGUMENT, QUOTE_BEFORE_BRACE, MessageRange, find_message_ranges
from weft.documents.replacements import Replacement
from weft.documents.slot_document import (
    MAX_UNIT_LENGTH,
    TOO_LONG,
    UNTRANSLATABLE,
    Slot,
    SlotDocument,
    check_units,
    line_number,
)
from weft.documents.string_escapes import EscapedString, EscapeStyle
from weft.documents.translatable_text import core_range, is_translatable, mark_spans, reject_translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

MAX_DEPTH = 100
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"|[{}\[\],:]')
ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))")
CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
REQUIRED = {
    **{chr(code): f"\\u{code:04x}" for code in range(32)},
    **{char: f"\\{letter}" for letter, char in CHARACTERS.items()},
    '"': r"\"",
    "\\": r"\\",
}
OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{|\xff\xfe(?:\s\x00)*\{\x00|\xfe\xff(?:\x00\s)*\x00\{")


class JsonString(NamedTuple):
    """A string value: the keys and indices that lead to it, and its range between the quotation marks."""

    path: tuple[str, ...]
    first: int
    end: int


def unescape(match: re.Match[str]) -> str:
    high, low, code, letter = match.groups()
    if high:
        return bytes.fromhex(high + low).decode("utf-16-be")
    return chr(int(code, 16)) if code else CHARACTERS.get(letter, letter)


def find_strings(text: str) -> Iterator[JsonString]:
    """Yield the string values of valid JSON."""
    path, objects, is_key = list[str](), list[bool](), False
    for match in TOKEN.finditer(text):
        symbol = match[0][0]
        if symbol in "{[":
            objects.append(symbol == "{")
            path.append("0")
            is_key = objects[-1]
            if len(objects) > MAX_DEPTH:
                raise DocumentError(f"is nested more than {MAX_DEPTH} deep. Is it a file of app strings?")
        elif symbol in "}]":
            objects.pop()
            path.pop()
            is_key = False
        elif symbol == ",":
            is_key = objects[-1]
            if not is_key:
                path[-1] = str(int(path[-1]) + 1)
        elif symbol == '"' and is_key:
            path[-1], is_key = ESCAPE.sub(unescape, match[1]), False
        elif symbol == '"':
            yield JsonString(tuple(path), *match.span(1))


def open_json(content: bytes, options: DocumentOptions) -> SlotDocument:
    file = decode_document(content)
    text = file.text
    value = _parse(text)
    if not isinstance(value, dict):
        raise DocumentError("is no JSON object. Is it a file of app strings?")
    strings = list(find_strings(text))
    check_units(len(strings))
    is_arb = is_arb_resource(value)
    is_extension = bool(value) and all(isinstance(item, dict) and "message" in item for item in value.values())
    reader = _JsonReader(file, is_arb)
    for string in strings:
        if is_arb and string.path == ("@@locale",):
            reader.add_locale(string, options.target)
        elif is_extension and string.path[1:] != ("message",):
            continue
        elif not (is_arb and string.path[0].startswith("@")):
            reader.add(string)
    return SlotDocument(file, reader.slots, dict(reader.skipped), tuple(reader.settings))


def _parse(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"is not valid JSON: {error}. Correct it") from None
    return value


def is_arb_resource(value: dict[str, object]) -> bool:
    """Whether an object is an ARB file: it has a locale, or metadata of its messages."""
    return "@@locale" in value or any(key.startswith("@") and key[1:] in value for key in value)


class _JsonReader:
    def __init__(self, file: DecodedText, is_arb: bool) -> None:
        self.slots, self.skipped = list[Slot](), Counter[str]()
        self.settings = list[Replacement]()
        self._text, self._is_arb = file.text, is_arb
        self._style = EscapeStyle.of(file.text, ESCAPE, unescape, REQUIRED)
        self._reached = (0, 1)

    def add_locale(self, string: JsonString, target: str) -> None:
        if target:
            self.settings.append(Replacement(string.first, string.end, target.replace("-", "_")))

    def add(self, string: JsonString) -> None:
        if string.end - string.first > MAX_UNIT_LENGTH:
            self.skipped[TOO_LONG] += 1
            return
        value = EscapedString.decode(self._text, string.first, string.end, ESCAPE, unescape)
        branches = find_message_ranges(value.text)
        if branches is None and ARGUMENT.search(value.text):
            self.skipped["an ICU message with text around its branches"] += 1
            return
        for part in branches or [MessageRange(*core_range(value.text))]:
            self._add_range(string, value, part, is_branch=branches is not None)

    def _add_range(self, string: JsonString, value: EscapedString, part: MessageRange, is_branch: bool) -> None:
        text = value.text[part.first : part.end]
        numbers = [Span("placeholders", "#", *m.span()) for m in re.finditer("#", text) if part.is_plural]
        marked = mark_spans(text, numbers)
        if not is_translatable(marked):
            self.skipped[UNTRANSLATABLE] += 1
            return
        self._reached = line_number(self._text, string.first, self._reached)
        location = f"line {self._reached[1]} ({'.'.join(string.path)})"
        unit = Unit(marked, location)
        render = self._render_branch if is_branch else self._render
        reject = _reject_branch if is_branch else reject_translation
        self.slots.append(
            Slot(unit, value.offsets[part.first], value.offsets[part.end], render, partial(reject, marked))
        )

    def _render(self, translation: MarkedText) -> str:
        return self._style.escape(translation.text.strip())

    def _render_branch(self, translation: MarkedText) -> str:
        """Write ’ for an apostrophe that would quote what follows, as the documentation of ICU recommends."""
        return self._style.escape(QUOTE_BEFORE_BRACE.sub("’", translation.text.strip()))


def _reject_branch(source: MarkedText, translation: MarkedText) -> str | None:
    known = {span.text for span in source.spans}
    rest = translation.text
    for text in sorted(known, key=len, reverse=True):
        rest = rest.replace(text, "")
    if re.search("[{}]", rest) or ("#" in rest and "#" in known):
        return "the text of a branch cannot have braces or # outside of its placeholders"
    return reject_translation(source, translation)


JSON_FORMAT = DocumentFormat(
    "json",
    "app strings in JSON or ARB",
    (".json", ".arb"),
    lambda content: OBJECT.match(content) is not None,
    open_json,
)
