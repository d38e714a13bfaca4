"""Decoding of documents in the encoding that they declare, without loss: encoding the text returns the same bytes."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import NamedTuple

from weft.core.formatting import quote
from weft.documents.document import DocumentError

BOMS = {BOM_UTF8: "utf-8", BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}
# Python has codecs that are no encodings of documents (idna, unicode_escape), so the names are listed.
ENCODING_NAME = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|iso-?8859-?\d{1,2}|latin-?[1-9]|windows-?(?:125\d|874)|koi8-[ru]"
    r"|shift[_-]jis|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5(?:-hkscs)?"
)


class DecodedText(NamedTuple):
    """A text, which starts with its byte order mark if it has one, and the encoding of its bytes."""

    text: str
    encoding: str

    def encode(self, text: str) -> bytes:
        """Encode a changed text; characters that the encoding lacks become character references (XML, HTML)."""
        return text.encode(self.encoding, "xmlcharrefreplace")


def decode_text(content: bytes, declared: str) -> DecodedText:
    """Decode bytes with their byte order mark, else with a declared encoding (a name of the IANA).

    Raise DocumentError if the encoding is not known or the bytes would not come back.
    """
    encoding = next((name for bom, name in BOMS.items() if content.startswith(bom)), "") or _codec_name(declared)
    try:
        text = content.decode(encoding)
        is_lossless = text.encode(encoding) == content
    except UnicodeError as error:
        raise DocumentError(f"is not valid {encoding}: {error}. Save it in the encoding that it declares.") from None
    if not is_lossless:
        raise DocumentError(f"has bytes that {encoding} spells in several ways. Save the file as UTF-8.")
    return DecodedText(text, encoding)


def _codec_name(declared: str) -> str:
    name = declared.strip().lower()
    if not ENCODING_NAME.fullmatch(name):
        raise DocumentError(f"is in an unknown encoding: {quote(declared)}. Save the file as UTF-8.")
    if re.fullmatch("utf-?16", name):
        raise DocumentError("is said to be UTF-16, but has no byte order mark. Save the file as UTF-8.")
    return name
