"""PO and POT files: units, what a filled file changes, and which translations are left out."""

import re
from collections.abc import Callable

import polib
import pytest

from weft.documents.document import DocumentError, DocumentOptions
from weft.documents.plural_forms import PLURAL_FIELDS, PluralForms, plural_field
from weft.documents.po_files import PO_FORMAT, open_po, read_po_pairs
from weft.text.marked_text import MarkedText

HEADER = r"""# Translators
msgid ""
msgstr ""
"Language: ru\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

"""
CATALOG = (
    HEADER
    + r"""#. A greeting
#: a.py:1
msgid "Hello"
msgstr "Привет"

#, c-format
msgctxt "menu"
msgid "%s has %d apples\n"
msgstr ""

#, fuzzy, python-format
#| msgid "%(n)s old"
msgid "%(n)s new ones"
msgstr "%(n)s"

#, c-format
msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

msgid "100"
msgstr   ""

#~ msgid "Obsolete"
#~ msgstr "Старое"
"""
)
RUSSIAN = DocumentOptions("en", "ru")


def change_text(text: MarkedText, change: Callable[[str], str]) -> MarkedText:
    return MarkedText.join([change(part) if isinstance(part, str) else part for part in text.parts()])


def fill(content: str, translations: list[str], options: DocumentOptions = RUSSIAN) -> tuple[str, list[str]]:
    """Fill with strings; return the file and the reasons of what was left out."""
    document = open_po(content.encode(), options)
    found = [MarkedText.find(text, ["placeholders", "markup"]) for text in translations]
    filled = document.fill(found)
    return filled.content.decode(), [reason for _, reason in filled.rejected]


def one_message(source: str, flags: str = "", translation: str = "") -> str:
    return f'{HEADER}{f"#, {flags}{chr(10)}" if flags else ""}msgid "{source}"\nmsgstr "{translation}"\n'


def test_untranslated_messages_are_units() -> None:
    document = open_po(CATALOG.encode(), RUSSIAN)
    assert [unit.text.text for unit in document.units] == ["%s has %d apples", "%d files"]
    assert [unit.location for unit in document.units] == ["line 15", "line 24"]
    assert [span.text for span in document.units[0].text.spans] == ["%s", "%d"]
    assert document.skipped == {"already translated": 1, "fuzzy": 1, "nothing to translate": 1}


def test_only_translations_of_units_change() -> None:
    document = open_po(CATALOG.encode(), RUSSIAN)
    filled = document.fill([change_text(unit.text, str.upper) for unit in document.units])
    expected = CATALOG.replace('apples\\n"\nmsgstr ""', 'apples\\n"\nmsgstr "%s HAS %d APPLES\\n"')
    for form in range(3):
        expected = expected.replace(f'msgstr[{form}] ""', f'msgstr[{form}] "%d FILES"')
    assert (filled.content.decode(), filled.rejected) == (expected, ())
    again = open_po(filled.content, RUSSIAN)
    assert again.units == []
    assert again.fill([]).content == filled.content


def test_nothing_changes_without_translations() -> None:
    content = CATALOG.replace("\n", "\r\n").encode()
    document = open_po(b"\xef\xbb\xbf" + content, RUSSIAN)
    assert document.fill([None] * len(document.units)).content == b"\xef\xbb\xbf" + content


def test_line_ends_and_byte_order_mark_stay() -> None:
    document = open_po(b"\xef\xbb\xbf" + one_message("Open").replace("\n", "\r\n").encode(), RUSSIAN)
    filled = document.fill([MarkedText("Открыть")]).content
    assert filled.decode() == "\ufeff" + one_message("Open", translation="Открыть").replace("\n", "\r\n")


def test_other_character_sets_stay() -> None:
    content = one_message("Open").replace("UTF-8", "KOI8-R").encode("koi8-r")
    document = open_po(content, RUSSIAN)
    assert 'msgstr "Открыть"' in document.fill([MarkedText("Открыть")]).content.decode("koi8-r")
    filled = document.fill([MarkedText("Ħ")])
    assert filled.content == content
    assert "KOI8-R" in filled.rejected[0][1]


def test_overwriting_replaces_translations_and_removes_fuzzy() -> None:
    document = open_po(CATALOG.encode(), DocumentOptions("en", "ru", overwrite=True))
    filled = document.fill([change_text(unit.text, str.upper) for unit in document.units]).content.decode()
    assert '#: a.py:1\nmsgid "Hello"\nmsgstr "HELLO"\n' in filled
    assert '\n#, python-format\nmsgid "%(n)s new ones"\nmsgstr "%(n)s NEW ONES"\n' in filled
    assert "#|" not in filled


def test_forms_that_have_a_translation_stay() -> None:
    content = CATALOG.replace('msgstr[0] ""', 'msgstr[0] "%d файл"')
    document = open_po(content.encode(), RUSSIAN)
    filled = document.fill([change_text(unit.text, str.upper) for unit in document.units]).content.decode()
    assert 'msgstr[0] "%d файл"\nmsgstr[1] "%d FILES"\n' in filled


def test_singular_is_a_unit_if_its_form_is_of_one_alone() -> None:
    german = CATALOG.replace("ru\\n", "de\\n")
    german = re.sub(r"nplurals=3.*;", "nplurals=2; plural=n != 1;", german).replace('msgstr[2] ""\n', "")
    document = open_po(german.encode(), DocumentOptions("en", "de"))
    assert [unit.text.text for unit in document.units[1:]] == ["%d files", "One file"][::-1]
    filled = document.fill([change_text(unit.text, str.upper) for unit in document.units]).content.decode()
    assert 'msgstr[0] "ONE FILE"\nmsgstr[1] "%d FILES"\n' in filled


TEMPLATE = r"""#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Language: \n"
"Content-Type: text/plain; charset=CHARSET\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

msgid "a file"
msgid_plural "some files"
msgstr[0] ""
msgstr[1] ""
"""


@pytest.mark.parametrize("language", sorted(PLURAL_FIELDS))
def test_templates_get_the_language_and_its_plural_forms(language: str) -> None:
    document = open_po(TEMPLATE.encode(), DocumentOptions("en", language))
    filled = document.fill([change_text(unit.text, str.upper) for unit in document.units])
    catalog = polib.pofile(filled.content.decode())
    assert catalog.metadata["Language"] == language.replace("-", "_")
    assert catalog.metadata["Content-Type"] == "text/plain; charset=UTF-8"
    assert catalog.metadata["Plural-Forms"] == plural_field(language)
    assert not catalog.metadata_is_fuzzy
    forms = PluralForms.parse(catalog.metadata["Plural-Forms"])
    (entry,) = catalog
    expected = {form: "A FILE" if form == forms.singular else "SOME FILES" for form in range(forms.size)}
    assert entry.msgstr_plural == expected


def test_plurals_of_an_unknown_language_are_skipped() -> None:
    document = open_po(TEMPLATE.encode(), DocumentOptions("en", ""))
    assert document.units == []
    assert document.skipped == {"the plural forms of the target language are unknown": 1}


def test_file_without_header_gets_one() -> None:
    filled, _ = fill('msgid "Open"\nmsgstr ""\n', ["Открыть"])
    assert polib.pofile(filled).metadata["Content-Type"] == "text/plain; charset=UTF-8"


@pytest.mark.parametrize(
    ("flags", "source", "translation", "written"),
    [
        ("c-format", "%s has %d", "%d of %s", "%2$d of %1$s"),
        ("c-format", "%s in 5", "5 % of %s", "5 %% of %s"),
        ("c-format", "%s, 100%% done", "100%% done: %s", "100%% done: %s"),
        ("php-format", "%s and %d", "%2$d, %1$s", "%2$d, %1$s"),
        ("c-format", "%s has %d", "%s has %s", None),
        ("c-format", "%s has %d", "%s has", None),
        ("python-format", "%(a)s of %(b)d", "%(b)d: %(a)s", "%(b)d: %(a)s"),
        ("python-format", "%s of %d", "%d: %s", None),
        ("python-format", "%(a)s is", "%(b)s is", None),
        ("python-brace-format", "{a} of {b}", "{b}: {a} {", "{b}: {a} {{"),
        ("python-brace-format", "{a} of {b}", "{b} of {c}", None),
        ("qt-format", "%1 of %2", "%2: %1, 5 %", "%2: %1, 5 %"),
        ("qt-format", "%1 of %2", "%2: %3", None),
        ("java-format", "open {0}", "l'{0}", "l''{0}"),
        ("java-format", "open {0}", "{0} {", None),
        ("sh-format", "open $name", "$name: $", None),
        ("lisp-format", "open ~a", "~a now", "~a now"),
        ("lisp-format", "open ~a", "~b now", None),
        ("no-c-format", "100 % sure", "sure: 100 %", "sure: 100 %"),
        ("", "open {name}", "{name}: 100%", "{name}: 100%"),
        ("", "open {name}", "open", None),
        ("", "open", "open {name}", None),
        ("", "<b>open</b>", "<b>open", None),
        ("", "open", "  ", None),
    ],
)
def test_directives_are_those_of_the_source(flags: str, source: str, translation: str, written: str | None) -> None:
    content = one_message(source, flags)
    filled, rejected = fill(content, [translation])
    assert filled == (content if written is None else one_message(source, flags, written))
    assert bool(rejected) == (written is None)


@pytest.mark.parametrize(("lead", "trail"), [(r"\n", r"\n"), ("", r"\n"), ("  ", " "), (r"\t", "")])
def test_white_space_around_a_message_stays(lead: str, trail: str) -> None:
    filled, _ = fill(one_message(f"{lead}Open{trail}"), ["\nОткрыть  "])
    assert polib.pofile(filled)[0].msgstr == f"{lead}Открыть{trail}".replace(r"\n", "\n").replace(r"\t", "\t")


def test_accelerators_get_a_new_place() -> None:
    menu = "".join(f'msgid "{text}"\nmsgstr ""\n\n' for text in ("&File", "Save &as...", "E&xit", "Tom &amp; Ann"))
    document = open_po((HEADER + menu).encode(), RUSSIAN)
    assert [unit.text.text for unit in document.units] == ["File", "Save as...", "Exit", "Tom &amp; Ann"]
    filled = document.fill(
        [MarkedText(text) for text in ("Файл", "另存为...", "1. выход", "Т &amp; А")]
    ).content.decode()
    assert [entry.msgstr for entry in polib.pofile(filled)] == ["&Файл", "另存为(&A)...", "1. &выход", "Т &amp; А"]


def test_training_pairs() -> None:
    pairs = list(read_po_pairs(CATALOG.encode(), RUSSIAN))
    assert [(source.text, target.text) for source, target in pairs] == [("Hello", "Привет")]
    plural = 'msgid "a file"\nmsgid_plural "files"\nmsgstr[0] "eine Datei"\nmsgstr[1] "Dateien"\n'
    pairs = list(read_po_pairs((HEADER + plural).encode(), RUSSIAN))
    assert [(source.text, target.text) for source, target in pairs] == [("a file", "eine Datei"), ("files", "Dateien")]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("nplurals=2", "is not nplurals=COUNT"),
        ("nplurals=2; plural=n", "yields 0 to 1000"),
        ("nplurals=2; plural=1/n", "divides by zero"),
        ("nplurals=2; plural=(n", "is expected, not the end"),
        ("nplurals=2; plural=n n", "the end is expected"),
        ("nplurals=2; plural=__import__", "unknown character"),
        ("nplurals=2; plural=" + "(" * 100 + "n", "nested more than"),
        ("nplurals=2; plural=" + "!" * 100 + "n", "nested more than"),
        ("nplurals=99; plural=0", "1 to 10 are possible"),
    ],
)
def test_wrong_plural_forms_are_refused(field: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        PluralForms.parse(field)


def test_content_is_recognized() -> None:
    assert PO_FORMAT.matches(CATALOG.encode())
    assert not PO_FORMAT.matches(b'{"msgid": "x"}')
