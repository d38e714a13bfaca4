"""Text without declared encoding: its byte order mark, its lines, and the markup around a text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from weft.documents.document import DocumentError
from weft.text.marked_text import MarkedText, partner_indices

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ud800-\udfff]")  # none is in a text file
BYTE_ORDER_MARKS = (  # that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class EncodedText(NamedTuple):
    """The text of a file. mark: its byte order mark, which is not part of the text."""

    text: str
    encoding: str
    mark: bytes

    def encode(self, text: str) -> bytes:
        """Return the bytes of another text in the same encoding."""
        return self.mark + text.encode(self.encoding)


class Line(NamedTuple):
    """A line without its end. number: from 1. first: the offset of its first character. break_text: its line end."""

    number: int
    first: int
    text: str
    break_text: str

    @property
    def end(self) -> int:
        return self.first + len(self.text)


def decode_document(content: bytes) -> EncodedText:
    """Decode UTF-8, or UTF-16 and UTF-32 with a byte order mark; raise DocumentError for anything else."""
    mark, encoding = next((known for known in BYTE_ORDER_MARKS if content.startswith(known[0])), (b"", "utf-8"))
    body = content.removeprefix(mark)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"line {line}: not {encoding.upper()} (byte 0x{body[error.start]:02X}). Convert the file to UTF-8."
        ) from None
    if control := CONTROL_CHARACTER.search(text):
        line = text.count("\n", 0, control.start()) + 1
        raise DocumentError(f"line {line}: contains the control character U+{ord(control[0]):04X}. Is it a text file?")
    return EncodedText(text, encoding, mark)


def check_output(text: str) -> None:
    """Raise DocumentError if a translation has a character that no text file contains."""
    if control := CONTROL_CHARACTER.search(text):
        raise DocumentError(f"the translation contains the character U+{ord(control[0]):04X}")


def split_lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text, which end at "\\n", "\\r\\n" or "\\r"."""
    for number, match in enumerate(LINE.finditer(text), start=1):
        if match[0]:
            yield Line(number, match.start(), match[1], match[2])


class OuterMarkup(NamedTuple):
    """A text without the white space and the pairs of tags around all of it, which are not part of the sentence."""

    before: str
    text: MarkedText
    after: str


def strip_outer_markup(marked: MarkedText) -> OuterMarkup:
    """Move white space and the pairs of tags that enclose the whole text out of it."""
    first, end = 0, len(marked.text)
    partners = partner_indices(marked.spans)
    left, right = 0, len(marked.spans) - 1
    while True:
        while first < end and marked.text[first].isspace():
            first += 1
        while first < end and marked.text[end - 1].isspace():
            end -= 1
        if left >= right or partners.get(left) != right:
            break
        if (marked.spans[left].first, marked.spans[right].end) != (first, end):
            break
        first, end = marked.spans[left].end, marked.spans[right].first
        left, right = left + 1, right - 1
    return OuterMarkup(marked.text[:first], marked.slice(first, end), marked.text[end:])


def normalize_spaces(text: MarkedText) -> MarkedText:
    """Make line ends and other white space outside of spans single spaces, and remove it at both ends."""
    joined = MarkedText.join(re.sub(r"\s+", " ", part) if isinstance(part, str) else part for part in text.parts())
    return joined.slice(len(joined.text) - len(joined.text.lstrip()), len(joined.text.rstrip()))


def has_letters(marked: MarkedText) -> bool:
    """Whether there is anything to translate outside of the spans."""
    return any(char.isalpha() for part in marked.parts() if isinstance(part, str) for char in part)
