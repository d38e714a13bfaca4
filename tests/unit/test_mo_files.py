"""Compiled translation catalogs: .mo files are read as the standard library reads them."""

import gettext
import io
import struct

import pytest

from weft.core.errors import UserError
from weft.data.datasets.mo_files import read_mo
from weft.documents.po_entries import CatalogMessage

HEADER = {"": "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=n != 1;\n"}


def make_mo(strings: dict[str, str], order: str = "<") -> bytes:
    """Return a .mo file. Plurals are separated by NUL, a context is followed by EOT."""
    rows = sorted((source.encode(), target.encode()) for source, target in strings.items())
    offset = 28 + 16 * len(rows)
    tables: tuple[list[int], list[int]] = ([], [])
    text = b""
    for side, table in enumerate(tables):
        for row in rows:
            table += [len(row[side]), offset + len(text)]
            text += row[side] + b"\0"
    numbers = [0x950412DE, 0, len(rows), 28, 28 + 8 * len(rows), 0, 0, *tables[0], *tables[1]]
    return struct.pack(f"{order}{len(numbers)}I", *numbers) + text


STRINGS = {
    **HEADER,
    "menu\x04Open": "Öffnen",
    "%d file\0%d files": "%d Datei\0%d Dateien",
    "Two\nlines": "Zwei\nZeilen",
}


@pytest.mark.parametrize("order", "<>")
def test_mo_file_is_read_without_header_and_contexts(order: str) -> None:
    content = make_mo(STRINGS, order)
    oracle = gettext.GNUTranslations(io.BytesIO(content))
    assert oracle.pgettext("menu", "Open") == "Öffnen"
    assert set(read_mo(content, "x.mo")) == {
        CatalogMessage("Open", "", (oracle.pgettext("menu", "Open"),)),
        CatalogMessage(
            "%d file", "%d files", tuple(oracle.ngettext("%d file", "%d files", number) for number in (1, 2))
        ),
        CatalogMessage("Two\nlines", "", (oracle.gettext("Two\nlines"),)),
    }


@pytest.mark.parametrize("size", [0, 3, 20, 30, 60, -3])
def test_truncated_mo_file_is_refused(size: int) -> None:
    with pytest.raises(UserError, match=r"x\.mo: not a \.mo file, or a broken one"):
        list(read_mo(make_mo(STRINGS)[:size], "x.mo"))


def test_other_file_is_refused_as_mo() -> None:
    with pytest.raises(UserError, match="wrong first bytes"):
        list(read_mo(b"msgid " * 9, "x.mo"))
