"""Splitting of documents: no character is lost, markup is preserved, and the time is linear."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.data.languages import LanguagePair
from weft.decoding.constraints.request import Request
from weft.inference.line_sentences import SplitLine, split_line
from weft.inference.translation import Alternative, Translation
from weft.serve import api_v1, libretranslate
from weft.serve.batch_queue import DecodeOptions
from weft.serve.document_split import SplitDocument, split_html, split_text
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel
from weft.text.marked_text import MarkedText
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import SpanKind

ENGLISH = SentenceSplitter("en")
KINDS: tuple[SpanKind, ...] = ("urls", "placeholders")
HTML_FRAGMENTS = [*"<>&/!-ab =\"'\n;#x1?[]", "<!--", "-->", "<![", "</", "script", "title", ' translate="no"', "&#1"]


def split(request: Request) -> SplitLine:
    return split_line(request, ENGLISH, KINDS)


def convert(request: Request, change: Callable[[str], str]) -> Translation:
    """Change everything but the spans."""
    parts = MarkedText(request.text, request.spans).parts()
    marked = MarkedText.join(change(part) if isinstance(part, str) else part for part in parts)
    best = Alternative(marked.text, 0.0, (), (), finished=True)
    return Translation(request.text, (best,), spans=marked.spans)


def fill(document: SplitDocument, change: Callable[[str], str] = str.upper) -> str:
    return document.fill([line.join([convert(one, change) for one in line.requests]) for line in document.lines])


def sentences_of(document: SplitDocument) -> list[str]:
    return [request.text for line in document.lines for request in line.requests]


@given(st.text())
def test_split_text_is_restored(text: str) -> None:
    assert fill(split_text(text, split), str) == text


@given(st.lists(st.sampled_from(HTML_FRAGMENTS), max_size=40).map("".join))
@example("a <![ b")
@example("<![ ]")
@example("x<![>")
def test_a_page_that_is_not_changed_stays_the_same(page: str) -> None:
    assert fill(split_html(page, split), str) == page
    fill(split_html(page, split))


@pytest.mark.parametrize(
    ("page", "sentences", "filled"),
    [
        ("plain", ["plain"], "PLAIN"),
        ('<p class="a b">one. Two</p>', ["one.", "Two"], '<p class="a b">ONE. TWO</p>'),
        ("a <B>b</B><br/>c<BR>", ["a <B>b</B><br/>c"], "A <B>B</B><br/>C<BR>"),
        (
            "<p>See <a href='x?a=1&b'>one. Two</a>.</p>",
            ["See <a href='x?a=1&b'>one.", "Two</a>."],
            "<p>SEE <a href='x?a=1&b'>ONE. TWO</a>.</p>",
        ),
        (
            "a <code translate=no>b <i>c</i></code> d",
            ["a <code translate=no>b <i>c</i></code> d"],
            "A <code translate=no>b <i>c</i></code> D",
        ),
        (
            "see http://a.b/?c=1&amp;d {e&gt;}",
            ["see http://a.b/?c=1&d {e>}"],
            "SEE http://a.b/?c=1&amp;d {e&gt;}",
        ),
        ("<pre>a\nb <b>c</b>\n</pre>d", ["d"], "<pre>a\nb <b>c</b>\n</pre>D"),
        ("fish &amp; chips &lt;now&gt;", ["fish & chips <now>"], "FISH &amp; CHIPS &lt;NOW&gt;"),
        ("<!DOCTYPE html><!-- x --><?php y ?>a", ["a"], "<!DOCTYPE html><!-- x --><?php y ?>A"),
        ("<script>if (a < b) {c}</script>d", ["d"], "<script>if (a < b) {c}</script>D"),
        ("<style>p {a: b}</style >d", ["d"], "<style>p {a: b}</style >D"),
        ('<p translate="no">a <b>b</b><br>c</p>d', ["d"], '<p translate="no">a <b>b</b><br>c</p>D'),
        ("&nbsp;<i> &#160; </i>", [], "&nbsp;<i> &#160; </i>"),
        ('<img alt="a cat" src=x>', ["a cat"], '<img alt="A CAT" src=x>'),
        ("a\n  <p>b\n\n c</p >\n", ["a", "b c"], "A\n  <p>B C</p >\n"),
        ("", [], ""),
        ("a <![ b > c", ["a <![ b > c"], "A <![ b > C"),
        ("a <![CDATA[ b ]]> c", ["a <![CDATA[ b ]]> c"], "A <![CDATA[ b ]]> C"),
        ("a <!--> b <!-- > --!> c <!-- d", ["a <!--> b <!-- > --!> c"], "A <!--> B <!-- > --!> C <!-- d"),
        ("1 < 2 <3 a</ b>c</>d", ["1 < 2 <3 a</ b>c</>d"], "1 &lt; 2 &lt;3 A</ b>C</>D"),
        ("<a title='>' href=/x/>b</a", ["b"], "<a title='>' href=/x/>B</a"),
        ('a <b c="d > e', ["a"], 'A <b c="d > e'),
        ("<title>a <b> c</title>d", ["a <b> c", "d"], "<title>A &lt;B&gt; C</title>D"),
        ("<SCRIPT>a</scripts></Script>d", ["d"], "<SCRIPT>a</scripts></Script>D"),
        ("<p Translate=NO><p>a</p><br>b<br/></p>c", ["c"], "<p Translate=NO><p>a</p><br>b<br/></p>C"),
        ("<div translate='no'><b>a</div>c", ["c"], "<div translate='no'><b>a</div>C"),
        ("<br translate=no>a<p data-translate=no>b</p>", ["a", "b"], "<br translate=no>A<p data-translate=no>B</p>"),
        ("<p translate=yes translate=no>a</p>", ["a"], "<p translate=yes translate=no>A</p>"),
        (f"a&#{'0' * 5000}98;&#x63;", ["abc"], "ABC"),
        (f"a&#{'1' * 5000};", ["a\ufffd"], "A\ufffd"),
    ],
)
def test_markup_is_preserved_and_text_is_translated(page: str, sentences: list[str], filled: str) -> None:
    document = split_html(page, split)
    assert sentences_of(document) == sentences
    assert fill(document) == filled


def test_alternatives_have_the_spans_of_the_page() -> None:
    (line,) = (document := split_html("a <b>c & d</b>", split)).lines
    (request,) = line.requests
    first = convert(request, str.upper)
    other = first.alternatives[0]._replace(text="<b>C</b> & <b>")
    page = document.fill([line.join([replace(first, alternatives=(*first.alternatives, other))])], 1)
    assert page == "<b>C</b> &amp; &lt;b&gt;"


UNITS = [
    "<a x",
    "<a x='",
    "<a x=\"'",
    "<a ",
    "</a ",
    "<!--",
    "<![",
    "<!",
    "<?",
    "</",
    "<",
    "<b>",
    "<b></c>",
    "<script>",
    "<title></",
]
UNITS += [
    "<p translate=no>",
    "<a translate=no><b></c>",
    "&",
    "&#",
    "&a;",
    "&#1",
    ". ",
    "(",
    "- ",
    "> ",
    "Mr. ",
    '"',
    "…",
    " ",
]


@pytest.mark.parametrize("unit", UNITS)
def test_splitting_time_is_linear(unit: str) -> None:
    def seconds(length: int) -> float:
        page, start = (unit * length)[:length], time.thread_time()
        split_html(page, split)
        return time.thread_time() - start

    short, long = (min(seconds(length) for _ in range(3)) for length in (1_000, 32_000))  # the fastest of three
    assert long < 250 * max(short, 1e-4)  # 32 times as long; quadratic time would be a factor of 1,024


class UppercaseModel:
    """A model that returns capital letters and records the threads in which texts are split."""

    def __init__(self) -> None:
        self.name, self.pair = "uppercase", LanguagePair("en", "de")
        self.threads = set[threading.Thread]()

    def split(self, request: Request) -> SplitLine:
        self.threads.add(threading.current_thread())
        return split(request)

    async def translate(self, lines: Sequence[SplitLine], _options: DecodeOptions) -> list[Translation]:
        return [line.join([convert(request, str.upper) for request in line.requests]) for line in lines]


def test_texts_are_split_outside_the_event_loop_thread() -> None:
    model = UppercaseModel()
    models = ModelPool([cast(ServedModel, model)])
    request = libretranslate.LibreTranslateRequest(q=["one. Two", "<three>"], source="auto", target="de")
    answer = json.loads(asyncio.run(libretranslate.translate_texts(request, models, ServerLimits())))
    assert answer["translatedText"] == ["ONE. TWO", "<THREE>"]
    lines = api_v1.TranslateRequest(lines=["- one. Two"], outputs=[])
    assert '"text": "- ONE. TWO"' in asyncio.run(api_v1.translate_lines(lines, models, ServerLimits()))
    assert model.threads
    assert threading.main_thread() not in model.threads
