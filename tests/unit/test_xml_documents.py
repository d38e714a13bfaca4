"""XLIFF and TMX: only targets are added, what exists stays, and hostile files are refused."""

import re
import time
from collections.abc import Callable, Sequence

import pytest
from lxml import etree

from unit.document_fuzzing import OPTIONS, count_accepted, fill, rotate, texts
from weft.documents import xml_source
from weft.documents.document import DocumentError, DocumentOptions
from weft.documents.tmx_files import TMX
from weft.documents.xliff_files import XLIFF
from weft.documents.xml_source import MAX_DEPTH, MAX_TAG_LENGTH
from weft.text.marked_text import MarkedText

XLIFF_1 = """<?xml version="1.0" encoding="utf-8"?>
<!-- a > comment --><?tool "x"?>
<x:xliff version="1.2" xmlns:x="urn:oasis:names:tc:xliff:document:1.2">
  <x:file original="a" source-language="en-US" datatype='plaintext'>
    <x:body>
      <x:trans-unit id="1">
        <x:source>Open <x:g id="1">the <x:x id="2"/></x:g> caf\u00e9 &amp; <![CDATA[<b>]]>
          now</x:source>
        <x:note>Open</x:note>
      </x:trans-unit>
      <x:trans-unit id="2" >
        <x:source xml:space="preserve"> Save <x:bpt id="1">&lt;b></x:bpt>all<x:ept id="1">&lt;/b></x:ept> </x:source>
        <x:target  state = "new" a='b'/>
      </x:trans-unit>
      <x:trans-unit id="3"><x:source>Close</x:source><x:target>Cerrar</x:target></x:trans-unit>
      <x:trans-unit id="4" approved="yes"><x:source>Quit</x:source><x:target>Salir</x:target></x:trans-unit>
      <x:trans-unit id="5" translate="no"><x:source>Weft</x:source></x:trans-unit>
      <x:group translate="no"><x:group>
        <x:trans-unit id="6"><x:source>A</x:source></x:trans-unit>
        <x:trans-unit id="7" translate="yes"><x:source>Help</x:source><x:alt-trans><x:target>no</x:target></x:alt-trans>
        </x:trans-unit>
      </x:group></x:group>
      <x:trans-unit id="8"><x:source>One. Two.</x:source>
        <x:seg-source><x:mrk mtype="seg" mid="1">One.</x:mrk> <x:mrk mtype="seg" mid="2">Two.</x:mrk></x:seg-source>
      </x:trans-unit>
      <x:trans-unit id="9"><x:source> </x:source></x:trans-unit>
    </x:body>
  </x:file>
</x:xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en">
  <file id="f">
    <unit id="1">
      <originalData><data id="d">%s</data></originalData>
      <segment id="s1">
        <source>Save <pc id="1">all <ph id="2" dataRef="d"/></pc> <sc id="3"/>files<ec startRef="3"/></source>
      </segment>
      <ignorable><source> </source></ignorable>
      <segment state="initial"><source xml:space="preserve">Quit <mrk id="m" translate="no">Weft</mrk></source>
        <target>Quit</target></segment>
      <segment state="final"><source>Yes</source><target>S\u00ed</target></segment>
      <segment><source>No</source><target>No</target></segment>
    </unit>
    <unit id="2" translate="no"><segment><source>x</source></segment></unit>
  </file>
</xliff>
"""
TMX_FILE = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" segtype="sentence"/>
  <body>
    <tu tuid="1">
      <tuv xml:lang="en-GB">
        <seg>Open <bpt i="1">&lt;b></bpt>the <ph/> file<ept i="1">&lt;/b></ept></seg>
      </tuv>
    </tu>
    <tu><tuv xml:lang="en"><seg>Yes</seg></tuv><tuv xml:lang="ES"><seg>S\u00ed</seg></tuv></tu>
    <tu><tuv xml:lang="en"><seg><hi>No</hi> more</seg></tuv><tuv xml:lang="es"><seg/></tuv></tu>
    <tu><tuv xml:lang="de"><seg>Nein</seg></tuv></tu>
  </body>
</tmx>
"""
SAMPLES = {"xliff 1": (XLIFF, XLIFF_1), "xliff 2": (XLIFF, XLIFF_2), "tmx": (TMX, TMX_FILE)}
SAFE_PARSER = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True)


def parse(content: bytes) -> etree._Element:
    return etree.fromstring(content, SAFE_PARSER)


def targets(content: bytes) -> list[str]:
    return [
        "".join(element.itertext()) for element in parse(content).iter("{*}target") if element.get("state") is not None
    ]


def test_units_of_xliff_1() -> None:
    document = XLIFF.open(XLIFF_1.encode(), OPTIONS)
    assert texts(document.units) == [
        'Open <x:g id="1">the <x:x id="2"/></x:g> café & <b>\n          now',
        'Save <x:bpt id="1">&lt;b></x:bpt>all<x:ept id="1">&lt;/b></x:ept>',
        "Help",
        "One.",
        "Two.",
    ]
    assert [span.role for span in document.units[0].text.spans] == ["open", "single", "close"]
    assert [span.role for span in document.units[1].text.spans] == ["open", "close"]
    assert document.units[2].location == "line 20"
    assert document.skipped == {"already translated": 1, "approved": 1, 'translate="no"': 2, "empty": 1}


def test_targets_of_xliff_1() -> None:
    filled = fill(XLIFF.open(XLIFF_1.encode(), OPTIONS)).decode()
    states = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    expected = XLIFF_1.replace("datatype='plaintext'>", "datatype='plaintext' target-language=\"es\">")
    for old, new in [
        (
            "now</x:source>\n",
            f'now</x:source>\n        <x:target {states}>Bcra <x:g id="1">gur <x:x id="2"/></x:g> pnsé &amp; '
            "&lt;o&gt;\n          abj</x:target>\n",
        ),
        (
            "<x:target  state = \"new\" a='b'/>",
            '<x:target  state = "needs-review-translation" a=\'b\' state-qualifier="mt-suggestion"> Fnir '
            '<x:bpt id="1">&lt;b></x:bpt>nyy<x:ept id="1">&lt;/b></x:ept> </x:target>',
        ),
        ("Help</x:source>", f"Help</x:source><x:target {states}>Uryc</x:target>"),
        (
            "</x:seg-source>",
            f'</x:seg-source>\n        <x:target {states}><x:mrk mtype="seg" mid="1">Bar.</x:mrk> '
            '<x:mrk mtype="seg" mid="2">Gjb.</x:mrk></x:target>',
        ),
    ]:
        assert old in expected
        expected = expected.replace(old, new)
    assert filled == expected


def test_targets_of_xliff_2() -> None:
    document = XLIFF.open(XLIFF_2.encode(), OPTIONS)
    assert document.skipped == {"approved": 1, "already translated": 1, 'translate="no"': 1}
    assert [[span.role for span in unit.text.spans] for unit in document.units] == [
        ["open", "single", "close", "open", "close"],
        ["single"],
    ]
    expected = (
        XLIFF_2.replace('srcLang="en">', 'srcLang="en" trgLang="es">')
        .replace('<segment id="s1">', '<segment id="s1" state="translated">')
        .replace('state="initial"', 'state="translated"')
        .replace("<target>Quit</target>", '<target>Dhvg <mrk id="m" translate="no">Weft</mrk></target>')
        .replace(
            '<ec startRef="3"/></source>',
            '<ec startRef="3"/></source>\n        <target>Fnir <pc id="1">nyy <ph id="2" dataRef="d"/></pc> '
            '<sc id="3"/>svyrf<ec startRef="3"/></target>',
        )
    )
    assert fill(document).decode() == expected


def test_a_memory_gets_variants() -> None:
    document = TMX.open(TMX_FILE.encode(), OPTIONS)
    assert document.skipped == {"already translated": 1, "without en": 1}
    variant = (
        '\n      <tuv xml:lang="es">\n        <seg>Bcra <bpt i="1">&lt;b></bpt>gur <ph/> svyr<ept i="1">&lt;/b></ept>'
        "</seg>\n      </tuv>"
    )
    expected = TMX_FILE.replace("</tuv>\n    </tu>", f"</tuv>{variant}\n    </tu>")
    assert fill(document).decode() == expected.replace("<seg/>", "<seg><hi>Ab</hi> zber</seg>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", SAMPLES)
def test_encodings_and_line_ends(name: str, newline: str, encoding: str) -> None:
    document_format, sample = SAMPLES[name]
    sample = re.sub(r"<\?xml [^>]*>\n", "", sample).replace("\n", newline)
    content = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>{sample}'.encode(encoding)
    document = document_format.open(content, OPTIONS)
    assert document.fill([None] * len(document.units)).content == content
    filled = fill(document, lambda text: MarkedText.join(["\u20ac ", *text.parts()]))
    assert "\u20ac " in "".join(parse(filled).itertext())
    text = filled.decode(encoding)
    assert text.count("\n") == text.count(newline)


@pytest.mark.parametrize("name", SAMPLES)
def test_filling_twice_changes_nothing_more(name: str) -> None:
    document_format, sample = SAMPLES[name]
    once = fill(document_format.open(sample.encode(), OPTIONS))
    document = document_format.open(once, OPTIONS)
    assert (document.units, fill(document)) == ([], once)
    again = document_format.open(once, DocumentOptions("en", "es", overwrite=True))
    assert len(again.units) > len(document_format.open(sample.encode(), OPTIONS).units)
    assert len(parse(fill(again)).findall(".//{*}target")) == len(parse(once).findall(".//{*}target"))


def test_a_second_pass_fills_the_segments_that_are_left() -> None:
    document = XLIFF.open(XLIFF_1.encode(), OPTIONS)
    partly = document.fill([None, None, None, rotate(document.units[3].text), None]).content
    assert targets(partly)[-1] == "Bar. "
    rest = XLIFF.open(partly, OPTIONS)
    assert texts(rest.units)[-1] == "Two."
    assert targets(fill(rest))[-1] == "Bar. Gjb."


@pytest.mark.parametrize(
    "translate",
    [
        lambda text: MarkedText("no tags"),
        lambda text: MarkedText.join([*text.parts(), *text.spans]),
        lambda text: MarkedText.join(reversed(list(text.parts()))),
        lambda text: MarkedText.join([*text.parts(), "\x01"]),
        lambda text: MarkedText("", ()),
    ],
    ids=["lost", "doubled", "not nested", "control character", "empty"],
)
def test_impossible_translations_are_left_out(translate: Callable[[MarkedText], MarkedText]) -> None:
    document = XLIFF.open(XLIFF_1.encode(), OPTIONS)
    translated = [translate(document.units[0].text), *[None] * 4]
    filled = document.fill(translated)
    assert filled.content == XLIFF_1.encode()
    assert [unit for unit, _ in filled.rejected] == [document.units[0]]


def test_pairs_around_several_sentences_may_become_single() -> None:
    document = XLIFF.open(XLIFF_1.encode(), OPTIONS)
    source = document.units[0].text
    single = MarkedText(source.text, tuple(span._replace(role="single") for span in source.spans))
    rest = [None] * 4
    assert document.fill([single, *rest]) == document.fill([source, *rest])


def test_spans_that_patterns_find_are_escaped() -> None:
    document = XLIFF.open(XLIFF_1.encode(), OPTIONS)
    found = MarkedText.find("<b> at http://a.b/?c&d", ["markup", "urls"])
    assert len(found.spans) == 2
    filled = document.fill([None, None, found, None, None]).content
    assert b">&lt;b&gt; at http://a.b/?c&amp;d</x:target>" in filled


@pytest.mark.parametrize(
    ("content", "options", "pairs"),
    [
        (XLIFF_1, OPTIONS, ["Close=Cerrar", "Quit=Salir"]),
        (XLIFF_2, DocumentOptions(), ["Yes=S\u00ed", "No=No"]),
        (TMX_FILE, OPTIONS, ["Yes=S\u00ed"]),
        (TMX_FILE, DocumentOptions(target="es-MX"), ["Yes=S\u00ed"]),
        (TMX_FILE.replace('"de"', '"es"'), DocumentOptions(), ["Yes=S\u00ed"]),
    ],
)
def test_pairs(content: str, options: DocumentOptions, pairs: Sequence[str]) -> None:
    read_pairs = (XLIFF if "xliff" in content else TMX).read_pairs
    assert read_pairs is not None
    found = read_pairs(content.encode(), options)
    assert [f"{source.text}={target.text}" for source, target in found] == pairs


def test_a_memory_of_three_languages_needs_their_names() -> None:
    assert TMX.read_pairs is not None
    with pytest.raises(DocumentError, match='"ES", "de", "en", "en-GB", "es"'):
        list(TMX.read_pairs(TMX_FILE.encode(), DocumentOptions()))


@pytest.mark.parametrize("options", [DocumentOptions("de", "es"), DocumentOptions("en-GB", "es")])
def test_files_of_other_languages_are_refused(options: DocumentOptions) -> None:
    with pytest.raises(DocumentError):
        XLIFF.open(XLIFF_1.encode(), options)
    with pytest.raises(DocumentError):
        XLIFF.open(XLIFF_1.replace("datatype=", 'target-language="fr" datatype=').encode(), OPTIONS)


LAUGHS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
HOSTILE = {
    "billion laughs": f'<!DOCTYPE xliff [<!ENTITY a0 "ha">{LAUGHS}]><xliff>&a9;</xliff>',
    "external entity": '<!DOCTYPE xliff [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>',
    "undefined entity": '<!DOCTYPE xliff SYSTEM "x.dtd"><xliff>&a;</xliff>',
    "depth": "<xliff>" + "<g>" * MAX_DEPTH * 100,
    "nodes": "<xliff>" + "<g/>" * 1000,
    "huge attribute": f'<xliff a="{"x" * 10 * MAX_TAG_LENGTH}"/>',
    "codec": '<?xml version="1.0" encoding="unicode_escape"?><xliff/>',
    "wrong encoding": '<?xml version="1.0" encoding="utf-16"?><xliff/>',
    "no element": "<!-- xliff -->",
    "another version": '<xliff version="3.0"/>',
    "another root": "<html/>",
    "no source": '<xliff version="1.2"><file><body><trans-unit/></body></file></xliff>',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_quickly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_source, "MAX_NODES", 999)
    start = time.thread_time()
    with pytest.raises(DocumentError):
        XLIFF.open(HOSTILE[name].encode(), OPTIONS)
    assert time.thread_time() - start < 5


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_are_refused_or_stay_readable(name: str) -> None:
    document_format, sample = SAMPLES[name]
    assert document_format.matches(sample.encode())
    assert 0 < count_accepted(document_format, sample.encode(), parse) < 200
