"""Texts and pages in parts: no letter is lost, markup stays, and no page takes long."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.data.languages import LanguagePair
from weft.decoding.constraints.request import Request
from weft.inference.translation import Alternative, Translation
from weft.serve import api_v1, libretranslate
from weft.serve.batch_queue import DecodeOptions
from weft.serve.document_split import html_segments, split_html, split_text
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel
from weft.text.sentences import SegmentedLine, SentenceSplitter

ENGLISH = SentenceSplitter("en")
TELLING = [*"<>&/!-ab =\"'\n;#x1?[]", "<!--", "-->", "<![", "</", "script", "title", ' translate="no"', "&#1"]


@given(st.text())
def test_a_text_is_put_together_as_it_was(text: str) -> None:
    parted = split_text(text, ENGLISH)
    assert parted.fill(parted.sentences) == text


@given(st.lists(st.sampled_from(TELLING), max_size=40).map("".join))
@example("a <![ b")
@example("<![ ]")
@example("x<![>")
def test_no_letter_of_a_page_is_lost(page: str) -> None:
    assert "".join(run.raw for run in html_segments(page)) == page
    parted = split_html(page, ENGLISH)
    parted.fill(parted.sentences)


@pytest.mark.parametrize(
    ("page", "sentences", "filled"),
    [
        ("plain", ["plain"], "PLAIN"),
        ('<p class="a b">one. Two</p>', ["one.", "Two"], '<p class="a b">ONE. TWO</p>'),
        ("a <B>b</B><br/>c<BR>", ["a", "b", "c"], "A <B>B</B><br/>C<BR>"),
        ("fish &amp; chips &lt;now&gt;", ["fish & chips <now>"], "FISH &amp; CHIPS &lt;NOW&gt;"),
        ("<!DOCTYPE html><!-- x --><?php y ?>a", ["a"], "<!DOCTYPE html><!-- x --><?php y ?>A"),
        ("<script>if (a < b) {c}</script>d", ["d"], "<script>if (a < b) {c}</script>D"),
        ("<style>p {a: b}</style >d", ["d"], "<style>p {a: b}</style >D"),
        ('<p translate="no">a <b>b</b><br>c</p>d', ["d"], '<p translate="no">a <b>b</b><br>c</p>D'),
        ("&nbsp;<i> &#160; </i>", [], "&nbsp;<i> &#160; </i>"),
        ('<img alt="a cat" src=x>', [], '<img alt="a cat" src=x>'),
        ("a\n  <p>b\n\n c</p >\n", ["a", "b", "c"], "A\n  <p>B\n\n C</p >\n"),
        ("", [], ""),
        ("a <![ b > c", ["a", "c"], "A <![ b > C"),
        ("a <![CDATA[ b ]]> c", ["a", "c"], "A <![CDATA[ b ]]> C"),
        ("a <!--> b <!-- > --!> c <!-- d", ["a", "b", "c"], "A <!--> B <!-- > --!> C <!-- d"),
        ("1 < 2 <3 a</ b>c</>d", ["1 < 2 <3 a", "c", "d"], "1 &lt; 2 &lt;3 A</ b>C</>D"),
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
def test_markup_stays_and_text_goes(page: str, sentences: list[str], filled: str) -> None:
    parted = split_html(page, ENGLISH)
    assert list(parted.sentences) == sentences
    assert parted.fill([sentence.upper() for sentence in sentences]) == filled


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
def test_a_page_that_is_longer_takes_no_more_for_a_letter(unit: str) -> None:
    def seconds(length: int) -> float:
        page, begun = (unit * length)[:length], time.thread_time()
        split_html(page, ENGLISH)
        return time.thread_time() - begun

    short, long = (min(seconds(length) for _ in range(3)) for length in (1_000, 32_000))  # undisturbed, of three
    assert long < 250 * max(short, 1e-4)  # 32 times as long; a square of it would be 1,024


class Shouting:
    """A model in capital letters, which remembers the threads in which texts were parted."""

    def __init__(self) -> None:
        self.name, self.pair = "shouting", LanguagePair("en", "de")
        self.threads = set[threading.Thread]()

    def splitter(self, line: str) -> SegmentedLine:
        self.threads.add(threading.current_thread())
        return ENGLISH(line)

    async def translate(self, requests: Sequence[Request], _options: DecodeOptions) -> list[Translation]:
        return [Translation(one.text, (Alternative(one.text.upper(), 0.0, (), (), finished=True),)) for one in requests]


def test_the_event_loop_goes_on_while_texts_are_parted() -> None:
    one = Shouting()
    models = ModelPool([cast(ServedModel, one)])
    asked = libretranslate.LibreTranslateRequest(q=["one. Two", "<three>"], source="auto", target="de")
    answer = json.loads(asyncio.run(libretranslate.translate_texts(asked, models, ServerLimits())))
    assert answer["translatedText"] == ["ONE. TWO", "<THREE>"]
    lines = api_v1.TranslateRequest(lines=["- one. Two"], outputs=[], paragraphs=True)
    assert '"text": "- ONE. TWO"' in asyncio.run(api_v1.translate_lines(lines, models, ServerLimits()))
    assert one.threads
    assert threading.main_thread() not in one.threads
