"""Java .properties files, in UTF-8, or in ISO-8859-1 with \\uXXXX.

https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from weft.documents.decoded_text import DecodedText, decode_document
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions
from weft.documents.slot_document import SlotDocument, check_units
from weft.documents.string_escapes import EscapeStyle
from weft.documents.string_files import KeyedString, StringReader

COMMENT = re.compile(r"[ \t\f]*+(?:[#!][^\r\n]*+)?(?:\r\n|\r|\n|\Z)")
KEY = re.compile(r"[ \t\f]*+((?:[^\\=: \t\f\r\n]|\\.)++|(?=[=:]))[ \t\f]*+(?:[=:][ \t\f]*+)?", re.DOTALL)
VALUE = re.compile(r"((?:[^\\\r\n]|\\(?:\r\n|.))*+)(\\?)(?:\r\n|\r|\n|\Z)", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(?:\r\n|\r|\n)[ \t\f]*|(.))", re.DOTALL)
CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
REQUIRED = {**{char: f"\\{letter}" for letter, char in CHARACTERS.items()}, "\\": r"\\"}
ARGUMENT = re.compile(r"\{[0-9]")  # of java.text.MessageFormat, where '' stands for an apostrophe
LONE_APOSTROPHE = re.compile(r"(?<!')(?:'')*+'(?!['{}])")
MATCHES = re.compile(rb"(?:[ \t]*+(?:[#!][^\r\n]*+|[\w.-]++[ \t]*+=[^\r\n]*+)?(?:\r?\n|\Z)){1,20}")
ASSIGNMENT = re.compile(rb"^[ \t]*+[\w.-]++[ \t]*+=[ \t]*+[^\s\[{\"']", re.MULTILINE)


def unescape(match: re.Match[str]) -> str:
    if match[0] == "''":
        return "'"
    code, letter = match.groups()
    if code:
        return chr(int(code, 16))
    if letter == "u":
        raise DocumentError(f"an escape has not four digits: {match.string[match.start() :][:6]}. Correct it")
    return CHARACTERS.get(letter, letter) if letter else ""


def find_properties(text: str) -> Iterator[KeyedString]:
    """Yield the keys with their values, which may continue on several lines."""
    position = 0
    while position < len(text):
        if comment := COMMENT.match(text, position):
            position = comment.end()
            continue
        key = KEY.match(text, position)
        value = VALUE.match(text, key.end()) if key else None
        if key is None or value is None or value[2]:
            raise DocumentError("the end of the file is a backslash, which continues a line. Correct it")
        yield KeyedString(ESCAPE.sub(unescape, key[1]), *value.span(1))
        position = value.end()


def open_properties(content: bytes, options: DocumentOptions) -> SlotDocument:
    """Read a file. One that has ASCII characters alone gets \\uXXXX, which every version of Java reads."""
    del options
    file = _decode(content)
    strings = list(find_properties(file.text))
    check_units(len(strings))
    style = EscapeStyle.of(file.text, ESCAPE, unescape, REQUIRED)
    if file.text.isascii() and not file.mark:
        style = replace(style, is_ascii=True)
    if file.encoding == "iso-8859-1":
        style = replace(style, is_latin=True)
    values = [file.text[string.first : string.end] for string in strings]
    has_arguments = [ARGUMENT.search(value) is not None for value in values]
    is_message_format = not any(
        has_argument and LONE_APOSTROPHE.search(value)
        for value, has_argument in zip(values, has_arguments, strict=True)
    )
    strings = [
        string._replace(doubles_apostrophes=is_message_format and has_argument)
        for string, has_argument in zip(strings, has_arguments, strict=True)
    ]
    return StringReader(file, style, ESCAPE, unescape).read(strings)


def _decode(content: bytes) -> DecodedText:
    try:
        return decode_document(content)
    except DocumentError:
        return decode_document(content, "iso-8859-1")


def matches_properties(content: bytes) -> bool:
    start = content[: 2**14]
    match = MATCHES.match(start)
    return match is not None and ASSIGNMENT.search(match[0]) is not None


PROPERTIES_FORMAT = DocumentFormat(
    "properties", "Java properties", (".properties",), matches_properties, open_properties
)
