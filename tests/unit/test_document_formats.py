"""Formats of documents: recognized by name and content; what is not supported is refused."""

import pytest

from weft.core.errors import UserError
from weft.documents.formats import FORMATS, find_format, format_by_name

PO = b'msgid ""\nmsgstr ""\n\nmsgid "a"\nmsgstr ""\n'
SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello\n"
XLIFF = b'<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"></xliff>'


def test_names_are_unique() -> None:
    assert len({one.name for one in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("readme.md", b"", "markdown"),
        ("README.MD", b"", "markdown"),
        ("film.srt", b"", "srt"),
        ("film.vtt", b"", "vtt"),
        ("messages.txt", PO, "po"),
        ("messages", PO, "po"),
        ("film.txt", SRT, "srt"),
        ("texts.xml", XLIFF, "xliff"),
        ("strings.xml", b'<resources><string name="a">Text</string></resources>', "android"),
        ("train.en", SRT, None),
        ("train.en", b"<b>Hello</b>", None),
        ("text.txt", b"# Hello\n- a = b\n{x}", None),
        ("text.txt", b"", None),
        ("text.txt.gz", b"\x1f\x8b", None),
    ],
)
def test_format_of_a_file(name: str, content: bytes, expected: str | None) -> None:
    found = find_format(name, content)
    assert (found and found.name) == expected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b""),
        ("a.odt", b"PK\x03\x04"),
        ("a.txt", b"%PDF-1.7"),
        ("a.txt", b"PK\x03\x04"),
        ("a.png", b""),
        ("a", b"\x89PNG"),
        ("a.bin", b"ab\0c"),
        ("a.xml", b"<root><a>Text</a></root>"),
        ("a.po.gz", b"\x1f\x8b"),
        ("a.tar.gz", b"\x1f\x8b"),
    ],
)
def test_what_would_be_ruined_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(UserError, match=name):
        find_format(name, content)


def test_unknown_name_is_refused() -> None:
    assert format_by_name("srt").suffixes == (".srt",)
    with pytest.raises(UserError, match="markdown"):
        format_by_name("markdwn")
