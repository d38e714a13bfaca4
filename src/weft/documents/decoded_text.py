"""The text of a file, decoded without loss by its byte order mark or a declared encoding, and its lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from weft.core.formatting import quote
from weft.documents.document import DocumentError

MAX_BYTES = 2**26
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ud800-\udfff]")  # none is in a text file
BYTE_ORDER_MARKS = (  # that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python has codecs that are no encodings of documents (idna, unicode_escape, EBCDIC), so the names are listed.
ENCODING_NAME = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|us-ascii|latin-?[1-9]|iso[-_]?8859[-_]?\d{1,2}|koi8-[rtu]"
    r"|(?:cp|windows-?)(?:1125|125\d|437|[79]\d\d|8[56]\d|874)"
    r"|gb2312|gbk|gb18030|big5(?:-?hkscs)?|euc-?(?:jp|kr)|shift[_-]?jis|johab|tis-620"
)


class DecodedText(NamedTuple):
    """The text of a file. mark: its byte order mark, which is not part of the text."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str, errors: str = "strict") -> bytes:
        """Return the bytes of another text in the same encoding."""
        return self.mark + text.encode(self.encoding, errors)

    def reject(self, text: str) -> str | None:
        """Return why a translation cannot be written in the encoding, or None."""
        try:
            text.encode(self.encoding)
        except UnicodeError:
            return f"{self.encoding.upper()} has not all characters of the translation"
        return None


def decode_document(content: bytes, encoding: str = "utf-8", max_bytes: int = MAX_BYTES) -> DecodedText:
    """Decode a file by its byte order mark, else by `encoding`, a name of the IANA.

    Raise DocumentError if the file is too large, the encoding is unknown, or the same bytes would not come back.
    """
    if len(content) > max_bytes:
        raise DocumentError(f"is too large (more than {max_bytes:,} bytes). Split it.")
    mark, encoding = find_byte_order_mark(content) or (b"", encoding.strip().lower())
    body = content.removeprefix(mark)
    if not (mark or ENCODING_NAME.fullmatch(encoding)):
        raise DocumentError(f"is in an unknown encoding: {quote(encoding)}. Save it as UTF-8.")
    try:
        text = body.decode(encoding)
        is_lossless = text.encode(encoding) == body
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"the text is not {encoding.upper()}: byte 0x{body[error.start]:02X} in line {line}. Save it as UTF-8."
        ) from None
    except (UnicodeError, LookupError):
        raise DocumentError(f"is in an unknown encoding: {quote(encoding)}. Save it as UTF-8.") from None
    if not is_lossless:
        raise DocumentError(
            f"the text is not regular {encoding.upper()}, or lacks its byte order mark. Save it as UTF-8."
        )
    return DecodedText(text, encoding, mark)


def decode_plain_text(content: bytes, max_bytes: int = MAX_BYTES) -> DecodedText:
    """Decode a file that declares no encoding; raise DocumentError also if it has characters that no text has."""
    decoded = decode_document(content, max_bytes=max_bytes)
    if control := CONTROL_CHARACTER.search(decoded.text):
        line = decoded.text.count("\n", 0, control.start()) + 1
        raise DocumentError(f"line {line}: contains the control character U+{ord(control[0]):04X}. Is it a text file?")
    return decoded


def find_byte_order_mark(content: bytes) -> tuple[bytes, str] | None:
    """Return the byte order mark of a file and the encoding that it stands for; None if there is none."""
    return next((known for known in BYTE_ORDER_MARKS if content.startswith(known[0])), None)


def check_output(text: str) -> None:
    """Raise DocumentError if a translation has a character that no text file contains."""
    if control := CONTROL_CHARACTER.search(text):
        raise DocumentError(f"the translation contains the character U+{ord(control[0]):04X}")


class Line(NamedTuple):
    """A line without its end. number: from 1. first: the offset of its first character. break_text: its line end."""

    number: int
    first: int
    text: str
    break_text: str

    @property
    def end(self) -> int:
        return self.first + len(self.text)


def split_lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text, which end at "\\n", "\\r\\n" or "\\r"."""
    for number, match in enumerate(LINE.finditer(text), start=1):
        if match[0]:
            yield Line(number, match.start(), match[1], match[2])
