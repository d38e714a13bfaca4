"""Localizable.strings of Apple: "key" = "value"; in UTF-8 or UTF-16, with comments of C."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.core.formatting import quote
from weft.documents.decoded_text import decode_document, find_byte_order_mark
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions
from weft.documents.slot_document import SlotDocument, check_units
from weft.documents.string_escapes import EscapeStyle
from weft.documents.string_files import KeyedString, StringReader

BLANK = re.compile(r"(?:[\s\ufeff]++|/\*(?:[^*]|\*(?!/))*+\*/|//[^\r\n]*+)*+")
STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"|([\w.$/:-]++)', re.DOTALL)
EQUALS, SEMICOLON = re.compile("="), re.compile(";")
ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([0-7]{3})|(.))", re.DOTALL)
CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
REQUIRED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", '"': r"\"", "\\": r"\\"}
ENTRY = re.compile(r'(?:^|[;/])\s*"(?:[^"\\]|\\.)*+"\s*=\s*"(?:[^"\\]|\\.)*+"\s*;', re.DOTALL)


def unescape(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    if code or octal:
        return chr(int(code, 16) if code else int(octal, 8))
    return CHARACTERS.get(letter, letter)


def find_entries(text: str) -> Iterator[KeyedString]:
    """Yield the keys with their values; raise DocumentError where the syntax is another."""
    position = _skip_blank(text, 0)
    while position < len(text):
        key = _expect(text, position, STRING, "a key")
        equals = EQUALS.match(text, _skip_blank(text, key.end()))
        value = _expect(text, _skip_blank(text, equals.end()), STRING, "a string") if equals else key
        if value.span(1) == (-1, -1) and equals:
            raise DocumentError(f"{_line(text, value.start())}: the value is no string in quotation marks. Correct it")
        if equals:
            yield KeyedString(key[1] if key[1] is not None else key[2], *value.span(1))
        position = _skip_blank(text, _expect(text, _skip_blank(text, value.end()), SEMICOLON, "a semicolon").end())


def _skip_blank(text: str, position: int) -> int:
    match = BLANK.match(text, position)
    return match.end() if match else position


def _expect(text: str, position: int, pattern: re.Pattern[str], title: str) -> re.Match[str]:
    match = pattern.match(text, position)
    if match is None:
        found = quote(text[position : position + 20]) if position < len(text) else "the end of the file"
        raise DocumentError(f"{_line(text, position)}: {title} is expected, not {found}. Correct it")
    return match


def _line(text: str, position: int) -> str:
    return f"line {text.count(chr(10), 0, position) + 1}"


def open_strings(content: bytes, options: DocumentOptions) -> SlotDocument:
    del options
    if content.startswith(b"bplist"):
        raise DocumentError("is a compiled property list. Convert it with plutil -convert strings, or use its source")
    file = decode_document(content, _guess_encoding(content))
    entries = list(find_entries(file.text))
    check_units(len(entries))
    return StringReader(file, EscapeStyle.of(file.text, ESCAPE, unescape, REQUIRED), ESCAPE, unescape).read(entries)


def _guess_encoding(content: bytes) -> str:
    """Return UTF-16 if every second byte of the start is zero, as in files without byte order mark."""
    start = content[:40]
    if len(start) >= 4 and not any(start[1::2]):
        return "utf-16-le"
    return "utf-16-be" if len(start) >= 4 and not any(start[::2]) else "utf-8"


def matches_strings(content: bytes) -> bool:
    start = content[: 2**14]
    mark, encoding = find_byte_order_mark(content) or (b"", _guess_encoding(content))
    return ENTRY.search(start.removeprefix(mark).decode(encoding, "replace")) is not None


STRINGS_FORMAT = DocumentFormat("strings", "Apple strings", (".strings",), matches_strings, open_strings)
