"""Translation catalogs: .mo files are read as the standard library reads them, .po files without fuzzy messages."""

import gettext
import io
import struct

import pytest

from weft.core.errors import UserError
from weft.data.datasets.gettext_catalogs import CatalogMessage, read_mo, read_po

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


PO = r"""# A comment
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#. Default: "Save"
#: place.py:3
msgid "label_save"
msgstr "Speichern"

#, python-format, fuzzy
msgid "Not sure"
msgstr "Unsicher"
#, python-format
msgctxt "menu"
msgid ""
"A \"long\" "
"line"
msgstr "Eine »lange« "
"Zei\\le\t"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

msgid "Untranslated"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
msgid "Last"
msgstr "Letzte"
"""


def test_po_file_is_read_without_header_fuzzy_and_obsolete_messages() -> None:
    assert list(read_po(PO.split("\n"))) == [
        CatalogMessage("label_save", "", ("Speichern",), 'Default: "Save"'),
        CatalogMessage('A "long" line', "", ("Eine »lange« Zei\\le\t",)),
        CatalogMessage("%d file", "%d files", ("%d Datei", "%d Dateien")),
        CatalogMessage("Untranslated", "", ("",)),
        CatalogMessage("Last", "", ("Letzte",)),
    ]


def test_escapes_of_po_files_are_replaced() -> None:
    (message,) = read_po(['msgid "a"', r'msgstr "\x41\101\n\r\"\\n\q"'])
    assert message.translations == ('AA\n\r"\\nq',)
