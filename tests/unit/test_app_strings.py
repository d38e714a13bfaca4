"""Files of app strings (JSON, ARB, properties, Apple, Android): what is a unit, and what a translation changes."""

import json
import re
from collections.abc import Callable
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from weft.documents.android_strings import ANDROID_FORMAT
from weft.documents.apple_strings import STRINGS_FORMAT
from weft.documents.decoded_text import MAX_BYTES
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions
from weft.documents.json_files import JSON_FORMAT
from weft.documents.properties_files import PROPERTIES_FORMAT
from weft.text.marked_text import MarkedText

FRENCH = DocumentOptions("en", "fr")
JSON = r"""{
    "menu": {"open": "Open the file", "label_id": "file_name", "empty": ""},
    "list":	["First \"one\"", 12, null, "https:\/\/example.org\/a", "caf\u00e9 {name}"],
    "count": "{n, plural, offset:1 =0{No files} one {# file} other {{g, select, female {her} other {their}}}}",
    "around": "You have {n, plural, one {# file} other {# files}}.",
    "slash": "  <b>bold<\/b>\n"
}
"""
ARB = r"""{
  "@@locale": "en",
  "@@x-comment": "A comment",
  "hello": "Hello {name}",
  "@hello": {"description": "Says hello", "placeholders": {"name": {"type": "String"}}}
}"""
EXTENSION = '{"title": {"message": "My extension", "description": "Its title"}}'
PROPERTIES = (
    "# Comment = no value\r\n! another\r\n\r\nopen=Open \\\r\n    the file\r\n"
    "say\\ it : Don''t delete {0}\r\nplain it's here\r\nempty=\r\nnumber=12\r\naccent=caf\\u00E9\\tX\r\n"
)
STRINGS = '/* A "comment" = "x"; */\n"open %@" = "Open \\"%@\\""; // end\nquit = "Quit\\nnow";\n"Only";\n'
ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- strings --><resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="open">Don\'t   open <b>it</b> &amp; <xliff:g id="n">%1$d</xliff:g></string>
    <string name="fixed" translatable="false">Fixed text</string>
    <string name="html"><![CDATA[Read <a href="x">this</a> & that]]></string>
    <string name="link">@string/open</string>
    <string name="quoted">"It's  here"</string>
    <string name="none"/>
    <string-array name="days"><item>First day</item><item>12</item></string-array>
    <plurals name="files"><item quantity="one">%d file</item><item quantity="other">%d files é</item></plurals>
    <integer-array name="sizes"><item>Big</item></integer-array>
</resources>
"""


class Sample(NamedTuple):
    format: DocumentFormat
    content: bytes
    texts: list[str]


SAMPLES = {
    "json": Sample(
        JSON_FORMAT,
        JSON.encode(),
        ["Open the file", 'First "one"', "café {name}", "No files", "# file", "her", "their", "<b>bold</b>"],
    ),
    "arb": Sample(JSON_FORMAT, ARB.encode(), ["Hello {name}"]),
    "extension": Sample(JSON_FORMAT, EXTENSION.encode(), ["My extension"]),
    "json-utf-16": Sample(JSON_FORMAT, '{"a": "Öffnen und lesen"}'.encode("utf-16"), ["Öffnen und lesen"]),
    "properties": Sample(
        PROPERTIES_FORMAT, PROPERTIES.encode(), ["Open the file", "Don't delete {0}", "it's here", "café\tX"]
    ),
    "properties-latin": Sample(
        PROPERTIES_FORMAT, "a=Öffnen\nb=Zwei W\\u00f6rter".encode("iso-8859-1"), ["Öffnen", "Zwei Wörter"]
    ),
    "properties-utf-8": Sample(PROPERTIES_FORMAT, "a = Öffnen 文\n".encode(), ["Öffnen 文"]),
    "strings": Sample(STRINGS_FORMAT, STRINGS.encode(), ['Open "%@"', "Quit\nnow"]),
    "strings-utf-16": Sample(STRINGS_FORMAT, STRINGS.encode("utf-16"), ['Open "%@"', "Quit\nnow"]),
    "strings-no-mark": Sample(STRINGS_FORMAT, STRINGS.encode("utf-16-le"), ['Open "%@"', "Quit\nnow"]),
    "android": Sample(
        ANDROID_FORMAT,
        ANDROID.encode(),
        [
            'Don\'t open <b>it</b> & <xliff:g id="n">%1$d</xliff:g>',
            'Read <a href="x">this</a> & that',
            "It's  here",
            "First day",
            "%d file",
            "%d files é",
        ],
    ),
}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


def change_text(text: MarkedText, change: Callable[[str], str]) -> MarkedText:
    return MarkedText.join([change(part) if isinstance(part, str) else part for part in text.parts()])


def swap(text: str) -> str:
    """A translation that is its own inverse."""
    return text.swapcase().replace("É", "é") if "É" in text.swapcase() else text.swapcase()


def fill(sample: Sample, change: Callable[[str], str], content: bytes | None = None) -> bytes:
    document = sample.format.open(content or sample.content, DocumentOptions())
    filled = document.fill([change_text(unit.text, change) for unit in document.units])
    assert filled.rejected == ()
    return filled.content


def test_texts_are_units(sample: Sample) -> None:
    assert [unit.text.text for unit in sample.format.open(sample.content, FRENCH).units] == sample.texts


def test_content_is_recognized(sample: Sample) -> None:
    kinds = (JSON_FORMAT, PROPERTIES_FORMAT, STRINGS_FORMAT, ANDROID_FORMAT)
    found = {kind.name for kind in kinds if kind.matches(sample.content)}
    assert found == {sample.format.name}


def test_same_text_changes_nothing(sample: Sample) -> None:
    document = sample.format.open(sample.content, DocumentOptions())
    assert fill(sample, str) == sample.content
    assert document.fill([None] * len(document.units)).content == sample.content


def test_translation_and_its_inverse_restore_the_values(sample: Sample) -> None:
    translated = fill(sample, swap)
    assert translated != sample.content
    document = sample.format.open(translated, DocumentOptions())
    spaces = re.compile(r" +")
    expected = [change_text(unit.text, swap).text for unit in sample.format.open(sample.content, FRENCH).units]
    assert [unit.text.text for unit in document.units] == expected
    restored = sample.format.open(fill(sample, swap, translated), FRENCH)
    assert [spaces.sub(" ", unit.text.text) for unit in restored.units] == [spaces.sub(" ", t) for t in sample.texts]
    assert fill(sample, str, translated) == translated


@pytest.mark.parametrize("name", ["json", "arb", "extension", "json-utf-16", "strings", "strings-utf-16"])
def test_translation_and_its_inverse_restore_the_bytes(name: str) -> None:
    assert fill(SAMPLES[name], swap, fill(SAMPLES[name], swap)) == SAMPLES[name].content


def test_json_changes_in_its_values_alone() -> None:
    filled = fill(SAMPLES["json"], lambda text: text.replace("e", 'é"\\')).decode()
    old, new = json.loads(JSON), json.loads(filled)
    old["menu"]["open"] = 'Opé"\\n thé"\\ filé"\\'
    old["list"][0] = 'First "oné"\\"'
    old["list"][4] = "café {name}"
    assert new == {**old, "count": new["count"]}
    assert 'No filé"\\s} one {# filé"\\} other {{g, select, female {hé"\\r} other {thé"\\ir}}}}' in new["count"]
    assert r"caf\u00e9 {name}" in filled
    assert filled.isascii()


def test_arb_gets_the_language() -> None:
    document = JSON_FORMAT.open(ARB.encode(), DocumentOptions("en", "pt-BR"))
    filled = document.fill([MarkedText.find("Olá {name}", ["placeholders"])]).content.decode()
    assert filled == ARB.replace('"en"', '"pt_BR"').replace("Hello {name}", "Olá {name}")


def test_text_around_icu_branches_is_left_alone() -> None:
    assert JSON_FORMAT.open(JSON.encode(), FRENCH).skipped == {
        "nothing to translate": 3,
        "an ICU message with text around its branches": 1,
    }


def test_apostrophe_before_a_placeholder_of_icu_quotes_nothing() -> None:
    document = JSON_FORMAT.open(b'{"a": "{n, plural, other {the {name}}}"}', FRENCH)
    filled = document.fill([MarkedText.find("l'{name}", ["placeholders"])])
    assert json.loads(filled.content)["a"] == "{n, plural, other {l’{name}}}"
    broken = document.fill([MarkedText("the {name} }")])
    assert "braces" in broken.rejected[0][1]


@pytest.mark.parametrize("text", ["Ouvrir", "Ouvrir {nom}", "", "Ouvrir {name} %s"])
def test_translations_with_other_placeholders_are_left_out(text: str) -> None:
    content = b'{"a": "Open {name}"}'
    filled = JSON_FORMAT.open(content, FRENCH).fill([MarkedText.find(text, ["placeholders"])])
    assert filled.content == content
    assert len(filled.rejected) == 1


def read_properties(text: str) -> dict[str, str]:
    """An independent reading by the rules of java.util.Properties."""
    found = {}
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text).splitlines():
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        key = re.match(r"((?:\\.|[^\\=: ])*)", line)
        assert key is not None
        value = re.sub(r"^\s*[=:]?\s*", "", line[key.end() :])
        found[key[1]] = value.encode("ascii").decode("unicode_escape")
    return found


def test_properties_are_read_by_an_independent_reader() -> None:
    filled = fill(SAMPLES["properties"], lambda text: text.replace("e", "文é\\'")).decode("ascii")
    new, old = read_properties(filled), read_properties(PROPERTIES)
    assert list(new) == list(old)
    assert new["open"] == "Open the file".replace("e", "文é\\'")
    assert new[r"say\ it"] == "Don''t d文é\\''l文é\\''t文é\\'' {0}"
    assert new["plain"] == "it's h文é\\'r文é\\'"
    assert {key: new[key] for key in ("empty", "number")} == {"empty": "", "number": "12"}
    assert filled.startswith("# Comment = no value\r\n! another\r\n\r\nopen=Op")


def test_properties_keep_their_encoding() -> None:
    assert fill(SAMPLES["properties-utf-8"], lambda text: text + "é") == "a = Öffnen 文é\n".encode()
    latin = fill(SAMPLES["properties-latin"], lambda text: text + "é文")
    assert latin == "a=Öffnené\\u6587\nb=Zwei W\\u00f6rteré\\u6587".encode("iso-8859-1")


def test_apple_strings_are_read_by_an_independent_reader() -> None:
    filled = fill(SAMPLES["strings-utf-16"], lambda text: text.replace("O", 'Ö"\\')).decode("utf-16")
    entries = re.sub(r"/\*.*?\*/|//[^\n]*", "", filled)
    values = [json.loads(value) for value in re.findall(r'= ("(?:[^"\\]|\\.)*");', entries)]
    assert values == ['Ö"\\pen "%@"', "Quit\nnow"]
    assert filled.startswith('/* A "comment" = "x"; */\n"open %@" = ')


def test_android_strings_are_read_by_an_independent_reader() -> None:
    filled = fill(SAMPLES["android"], lambda text: text.replace("e", "é'\"\\<&"))
    old, new = (ElementTree.fromstring(content) for content in (ANDROID.encode(), filled))
    assert [(node.tag, node.attrib) for node in old.iter()] == [(node.tag, node.attrib) for node in new.iter()]
    assert new[0].text == r"Don\'t opé\'\"\\<&n ".replace("é\\'\\\"\\\\<&", "é\\'\\\"\\\\<&")
    assert new[2].text == 'Réa<a href="x">this</a> & that'.replace("Réa", "R" + "é\\'\\\"\\\\<&" + "ad ")
    assert new[4].text == '"' + "It's  h" + "é'\\\"\\\\<&" + "r" + "é'\\\"\\\\<&" + '"'
    assert [new[number].text for number in (1, 3)] == [old[number].text for number in (1, 3)]


def test_android_tags_stay_nested_and_percent_is_doubled() -> None:
    content = '<resources><string name="a"><b>%d</b> files</string></resources>'
    document = ANDROID_FORMAT.open(content.encode(), FRENCH)
    bold, number, end, rest = document.units[0].text.parts()
    filled = document.fill([MarkedText.join([end, number, bold, rest])])
    assert filled.content.decode() == content
    assert "not nested" in filled.rejected[0][1]
    filled = document.fill([MarkedText.join(["100 % ", bold, number, end])])
    assert "100 %% <b>%d</b></string>" in filled.content.decode()


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (JSON_FORMAT, b'{"a": ', "is not valid JSON"),
        (JSON_FORMAT, b'["a"]', "is no JSON object"),
        (JSON_FORMAT, b'{"a":' * 500 + b"1" + b"}" * 500, "nested more than"),
        (JSON_FORMAT, b'{"a":' * 50_000, "is not valid JSON"),
        (JSON_FORMAT, b'{"a": "\xff"}', "the text is not UTF-8"),
        (PROPERTIES_FORMAT, b"a=b\\", "the end of the file is a backslash"),
        (PROPERTIES_FORMAT, b"a=\\u12", "has not four digits"),
        (STRINGS_FORMAT, b'"a" = "b"', "a semicolon is expected"),
        (STRINGS_FORMAT, b'"a" = {x = 1;};', "a string is expected"),
        (STRINGS_FORMAT, b"bplist00", "compiled property list"),
        (ANDROID_FORMAT, b"<resources><string>", "is not valid XML"),
        (ANDROID_FORMAT, b"<html/>", "the root element is html"),
        (ANDROID_FORMAT, b'<!DOCTYPE x [<!ENTITY a "b">]><resources/>', "declares a document type"),
        (ANDROID_FORMAT, b"<resources>" + b"<a>" * 100, "nested more than"),
    ],
)
def test_damaged_files_are_refused(kind: DocumentFormat, content: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        kind.open(content, FRENCH)


@pytest.mark.parametrize("kind", [JSON_FORMAT, PROPERTIES_FORMAT, STRINGS_FORMAT, ANDROID_FORMAT])
def test_too_large_files_are_refused(kind: DocumentFormat) -> None:
    with pytest.raises(DocumentError, match="is too large"):
        kind.open(bytes(MAX_BYTES + 1), FRENCH)


def test_too_many_and_too_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.documents.slot_document.MAX_UNITS", 1)
    with pytest.raises(DocumentError, match="has 2 texts"):
        PROPERTIES_FORMAT.open(b"a=b\nb=c", FRENCH)
    document = JSON_FORMAT.open(json.dumps({"a": "a b " * 30_000}).encode(), FRENCH)
    assert (document.units, document.skipped) == ([], {"longer than 100,000 characters": 1})
