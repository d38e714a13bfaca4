"""Entries of PO files: which messages are read, and how strings are written."""

import pytest

from weft.documents.document import DocumentError
from weft.documents.po_entries import CatalogMessage, parse_entries, read_messages, write_string

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
    assert list(read_messages(PO.split("\n"))) == [
        CatalogMessage("label_save", "", ("Speichern",), 'Default: "Save"'),
        CatalogMessage('A "long" line', "", ("Eine »lange« Zei\\le\t",)),
        CatalogMessage("%d file", "%d files", ("%d Datei", "%d Dateien")),
        CatalogMessage("Untranslated", "", ("",)),
        CatalogMessage("Last", "", ("Letzte",)),
    ]


def test_escapes_of_po_files_are_replaced() -> None:
    (message,) = read_messages(['msgid "a"', r'msgstr "\x41\101\n\r\"\\n\q"'])
    assert message.translations == ('AA\n\r"\\nq',)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("", ['msgstr ""']),
        ("Öffnen", ['msgstr "Öffnen"']),
        ("one\n", [r'msgstr "one\n"']),
        ('a\t"b"\n\\n', ['msgstr ""', r'"a\t\"b\"\n"', r'"\\n"']),
        ("w" * 70, [f'msgstr "{"w" * 70}"']),
        ("w" * 71, ['msgstr ""', f'"{"w" * 71}"']),
        ("four " * 20, ['msgstr ""', f'"{"four " * 15}"', f'"{"four " * 5}"']),
        ("文字" * 30, ['msgstr ""', f'"{"文字" * 19}"', f'"{"文字" * 11}"']),
    ],
)
def test_strings_are_written_as_gettext_does(value: str, lines: list[str]) -> None:
    assert write_string("msgstr", value) == lines
    (entry,) = parse_entries(['msgid "a"', *lines])
    assert entry.translations[0].value == value


def test_strings_are_not_wrapped_on_request() -> None:
    assert write_string("msgstr", "four " * 20, wraps=False) == [f'msgstr "{"four " * 20}"']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('msgid "a"', "line 1: the message has no msgstr"),
        ('msgid "a"\nmsgid "b"\nmsgstr ""', "line 2: msgid is not expected here"),
        ('msgstr "a"', "line 1: msgstr is not expected here"),
        ('msgid "a"\nmsgstr[0] "a"', r"line 2: msgstr\[0\] is not expected here"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[1] "a"', r"line 3: msgstr\[1\] is not expected here"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr "a"', "line 3: msgstr is not expected here"),
        ('msgid "a"\nmsgstr ""\nmsgstr ""', "line 3: msgstr is not expected here"),
        ('msgid "a', "line 1: a string in quotation marks is expected"),
        ('msgid "a"b"', "line 1: a string in quotation marks is expected"),
        ("<html>", 'line 1 is no line of a PO file: "<html>"'),
    ],
)
def test_lines_that_are_no_entry_are_refused(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        parse_entries(text.split("\n"))
