"""HTML: units, spans and attributes; markup, scripts and untranslated elements stay byte for byte."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from unit.document_fuzzing import OPTIONS, count_accepted, fill, rotate, texts
from weft.documents.document import DocumentError
from weft.documents.html_files import HTML, parse_html
from weft.documents.html_tokens import html_tokens
from weft.text.marked_text import MarkedText

FRAGMENTS = [*"<>&/!-ab =\"'\n;#x1?[]", "<!--", "-->", "<![", "</", "script", "title", "<b>", "</b>", ' translate="no"']
PAGE = """<!DOCTYPE html>
<html>
<head><title>Red &amp; blue</title><meta charset="utf-8"><meta name="description" content="A page">
<style>p > b {color: red}</style><script>if (a < b) { say("hello") }</script></head>
<body class=main>
<h1><a href="#top"><i>Welcome</i></a></h1>
<p>The <b>red
   <i>cat</i></b> sees <code>f(x)</code> &lt; 3 <img src=cat.png alt='A "cat"'> today.<br>
<p translate=no>Weft <p>Second <span class="notranslate x">Weft</span> paragraph
<pre>print <b>this</b></pre>
<ul><li> One </li><li>Two</li><li>123</li></ul>
<input type=submit value="Send it"><input value="kept" placeholder=name>
<!-- a comment --> Last text <!-- another -->
</body></html>
"""
UNITS = [
    "Red & blue",
    "A page",
    "Welcome",
    'A "cat"',
    "The <b>red <i>cat</i></b> sees <code>f(x)</code> < 3 <img src=cat.png alt='A \"cat\"'> today.",
]


def upper(text: MarkedText) -> MarkedText:
    return MarkedText.join(part.upper() if isinstance(part, str) else part for part in text.parts())


def test_units_of_a_page() -> None:
    page = PAGE.replace("<p translate=no>Weft ", "<p translate=no>Weft</p>")
    document = HTML.open(page.encode(), OPTIONS)
    rest = ['Second <span class="notranslate x">Weft</span> paragraph', "One", "Two", "Send it", "name", "Last text"]
    assert texts(document.units) == [*UNITS, *rest]
    assert [span.role for span in document.units[4].text.spans] == [
        "open",
        "open",
        "close",
        "close",
        "single",
        "single",
    ]
    assert document.units[4].location == "line 7"
    assert document.skipped == {"code": 1, 'translate="no"': 1, "notranslate": 1, "pre": 1}


def test_filling_a_page() -> None:
    filled = fill(HTML.open(PAGE.encode(), OPTIONS), upper).decode()
    expected = PAGE.replace("<html>", '<html lang="es">')
    for old, new in [
        ("Red &amp; blue", "RED &amp; BLUE"),
        ('"A page"', '"A PAGE"'),
        ("Welcome", "WELCOME"),
        ("The <b>red\n   <i>cat</i></b> sees", "THE <b>RED <i>CAT</i></b> SEES"),
        ("""'A "cat"'> today""", '"A &quot;CAT&quot;"> TODAY'),
    ]:
        assert old in expected
        expected = expected.replace(old, new)
    assert filled == expected  # what follows is in an element that is not translated and never ends


@pytest.mark.parametrize(
    ("page", "filled"),
    [
        ("a <B>b</B><br/>c<BR>", "A <B>B</B><br/>C<BR>"),
        ("a<p>b<div>c</div>d", "A<p>B<div>C</div>D"),
        ("<b>a</b> b", "<b>A</b> B"),
        ("<b><i>a</i></b>", "<b><i>A</i></b>"),
        ("&nbsp;<i> &#160; </i>", "&nbsp;<i> &#160; </i>"),
        ("<a title='>' href=/x/>b</a", "<a title='>' href=/x/>B</a"),
        ("<title>a <b> c</title>d", "<title>A &lt;B&gt; C</title>D"),
        ("a<script>b</script>c", "A<script>b</script>C"),
        ("<p Translate=NO><p>a</p><br>b<br/></p>c", "<p Translate=NO><p>a</p><br>b<br/></p>C"),
        ("<x-y>a</x-y><x-y>b</x-y>", "<x-y>A</x-y><x-y>B</x-y>"),
        ("<svg><title>a</title></svg> b <i class=x></i>", "<svg><title>a</title></svg> B <i class=x></i>"),
        ("<html lang=en>a", '<html lang="es">A'),
        ("<html lang>a", '<html lang="es">A'),
        ("<html lang=en>1", "<html lang=en>1"),
        ('<option label=x title="">a', '<option label=x title="">A'),
        ("a &hellip; b &notin; &#x110000;", "A \u2026 B \u2209 \ufffd"),
    ],
)
def test_markup_stays(page: str, filled: str) -> None:
    document = parse_html(page, "es")
    assert document.fill_page([upper(unit.text) for unit in document.units]) == (filled, [])


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
def test_any_text_is_a_page(page: str) -> None:
    tokens = list(html_tokens(page))
    assert "".join(page[token.first : token.end] for token in tokens) == page
    assert all(token.first < token.end for token in tokens)
    document = parse_html(page)
    assert document.fill_page([None] * len(document.units)) == (page, [])
    assert document.fill_page([unit.text for unit in document.units]) == (page, [])
    filled, rejected = document.fill_page([rotate(unit.text) for unit in document.units])
    assert rejected == []
    back = parse_html(filled)
    assert len(back.units) == len(document.units)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "shift_jis"])
def test_encodings(encoding: str) -> None:
    page = f'<meta charset="{encoding}"><p>\u3042</p>' if encoding == "shift_jis" else "<p>caf\u00e9</p>"
    content = (page if encoding == "utf-16" else f'<meta charset="{encoding}">{page}').encode(encoding)
    document = HTML.open(content, OPTIONS)
    filled = document.fill([MarkedText("a \u20ac \U0001f600")] * len(document.units)).content
    assert "".join(etree.HTML(filled).itertext()) == "a \u20ac \U0001f600"


@pytest.mark.parametrize("content", [b"<p>\xff</p>", b'<meta charset="utf-7"><p>a', b"<p>a\0b"])
def test_unreadable_files_are_refused(content: bytes) -> None:
    with pytest.raises(DocumentError):
        HTML.open(content, OPTIONS)


def test_filling_again_keeps_the_page() -> None:
    once = fill(HTML.open(PAGE.encode(), OPTIONS))
    document = HTML.open(once, OPTIONS)
    assert document.fill([unit.text for unit in document.units]).content == once
    again = HTML.open(fill(document), OPTIONS)
    assert texts(again.units) == [text.replace("alt='A \"cat\"'", 'alt="A &quot;cat&quot;"') for text in UNITS]


def test_damaged_pages_stay_pages() -> None:
    assert HTML.matches(PAGE.encode())
    assert count_accepted(HTML, PAGE.encode(), etree.HTML) > 50


def test_translations_without_the_tags_are_left_out() -> None:
    document = parse_html("<p>a <b>b</b> <i>c</i></p>")
    crossed = MarkedText.join(
        part for index in (0, 1, 5, 2, 3, 4, 6, 7) for part in list(document.units[0].text.parts())[index : index + 1]
    )
    for translation in (MarkedText("x"), crossed):
        page, rejected = document.fill_page([translation])
        assert page == document.page
        assert [unit for unit, _ in rejected] == document.units


@pytest.mark.parametrize(
    "part", ["<b>", "</b>", "<a x='", "<b><i></b>", "<code>", "<span></span>", "<pre></b>", "<!--", "x<!-- -->", "a<i>"]
)
def test_time_is_linear(part: str) -> None:
    def seconds(length: int) -> float:
        page, start = (part * length)[:length], time.thread_time()
        document = parse_html(page)
        document.fill_page([rotate(unit.text) for unit in document.units])
        return time.thread_time() - start

    assert seconds(60_000) < 8 * seconds(15_000) + 0.5
