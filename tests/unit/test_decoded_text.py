"""Decoding of files: byte order marks and declared encodings come back byte for byte, everything else is refused."""

import codecs

import pytest

from unit.document_checks import texts
from weft.documents.decoded_text import decode_document, decode_plain_text
from weft.documents.document import DocumentError
from weft.documents.html_files import HTML
from weft.documents.replacements import Edits, Replacement, replace_ranges

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", MARKS)
def test_byte_order_mark_precedes_the_declaration(encoding: str) -> None:
    decoded = decode_document(MARKS[encoding] + "a\r\né".encode(encoding), "koi8-r")
    assert (decoded.text, decoded.encoding) == ("a\r\né", encoding)
    assert decoded.encode("ж") == MARKS[encoding] + "ж".encode(encoding)


@pytest.mark.parametrize("encoding", ["UTF8", " ISO-8859-1", "cp1252", "Windows-1251", "koi8-u", "Shift_JIS"])
def test_declared_encoding(encoding: str) -> None:
    decoded = decode_document("a\xa0b".encode(encoding, "ignore"), encoding)
    assert decoded.encode(decoded.text) == "a\xa0b".encode(encoding, "ignore")
    assert (decoded.reject("\U00010000") is None) == (encoding == "UTF8")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"a\n\xff", "utf-8"),
        (codecs.BOM_UTF8 + b"\xff", "iso-8859-1"),
        (b"ab", "utf-16"),
        (b"\x87\x90", "cp932"),  # which writes the same character as 81 E0
        *((b"a", name) for name in ("idna", "rot13", "utf-7", "cp037", "unicode_escape", "iso-8859-12", "")),
    ],
)
def test_what_would_not_come_back_is_refused(content: bytes, encoding: str) -> None:
    with pytest.raises(DocumentError):
        decode_document(content, encoding)


def test_limit_of_bytes() -> None:
    assert decode_document(b"abc", max_bytes=3).text == "abc"
    with pytest.raises(DocumentError):
        decode_document(b"abcd", max_bytes=3)


def test_plain_text_has_no_control_characters() -> None:
    assert decode_plain_text(b"a\t\r\n\x1b").text == "a\t\r\n\x1b"
    with pytest.raises(DocumentError, match="line 2"):
        decode_plain_text(b"a\n\0")


def test_byte_order_mark_is_in_no_unit() -> None:
    assert texts(HTML, "\ufeffred <b>cat</b>".encode()) == ["red <b>cat</b>"]


def test_ranges_are_replaced_in_any_order() -> None:
    assert replace_ranges("abcdef", [Replacement(4, 5, "E"), Replacement(0, 2, ""), Replacement(3, 3, "-")]) == "c-dEf"


def test_inner_replacement_is_part_of_the_outer_one() -> None:
    edits = Edits(b"a(b[c]d)e")
    edits.replace(4, 5, b"C")
    edits.replace(1, 8, b"<" + edits.render(2, 7) + b">")
    assert edits.render(0, 9) == b"a<b[C]d>e"
