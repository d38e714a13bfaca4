"""Documents are translated by text: repeated ones once, lines by themselves, and with all of their spans."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.documents.document import DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.subtitles import SRT_FORMAT
from weft.inference.backends import StreamError
from weft.inference.document_translation import translate_document
from weft.inference.translation import Alternative, Translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

BOLD = (Span("markup", "<b>", 0, 0, "open"), Span("markup", "</b>", 0, 0, "close"))


@dataclass(frozen=True)
class ListDocument:
    """A document of these units, whose content is its translations with their spans."""

    units: tuple[Unit, ...]
    skipped: dict[str, int]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        return FilledDocument(repr([text and text.text for text in translations]).encode())


@dataclass(frozen=True)
class Recorder:
    """Translates into upper case, and records the requests."""

    requests: list[Request]

    def __call__(self, requests: Iterable[Request]) -> Iterator[Translation]:
        for request in requests:
            self.requests.append(request)
            upper = MarkedText.join(
                part if isinstance(part, Span) else part.upper()
                for part in MarkedText(request.text, request.spans).parts()
            )
            yield make_translation(request.text, upper)


def make_translation(source: str, text: MarkedText) -> Translation:
    return Translation(source, (Alternative(text.text, 0.0, (), (), True),), spans=text.spans)


def format_of(*texts: MarkedText) -> DocumentFormat:
    units = tuple(Unit(text, f"line {number}") for number, text in enumerate(texts, start=1))
    return DocumentFormat("list", "list", (), lambda _: True, lambda *_: ListDocument(units, {"done": 2}))


def translate(stream: object, *texts: MarkedText) -> tuple[str, list[str]]:
    assert callable(stream)
    translated = translate_document(b"", format_of(*texts), DocumentOptions(), stream)
    assert translated.report.skipped == {"done": 2}
    assert translated.report.translated + len(translated.report.rejected) == len(texts)
    return translated.content.decode(), [unit.location for unit, _ in translated.report.rejected]


def test_repeated_texts_are_translated_once() -> None:
    recorder = Recorder([])
    assert translate(recorder, MarkedText("a"), MarkedText("b"), MarkedText("a")) == ("['A', 'B', 'A']", [])
    assert [request.text for request in recorder.requests] == ["a", "b"]


def test_lines_of_a_text_are_translated_by_themselves() -> None:
    recorder = Recorder([])
    text = MarkedText.join(["a\n\n b", BOLD[0], "c\nd", BOLD[1]])
    assert translate(recorder, text)[0] == repr(["A\n\n B<b>C\nD</b>"])
    assert [request.text for request in recorder.requests] == ["a", "b<b>c", "d</b>"]
    assert [len(request.spans) for request in recorder.requests] == [0, 1, 1]


def test_text_whose_markup_is_lost_stays() -> None:
    def lose(requests: Iterable[Request]) -> Iterator[Translation]:
        return (make_translation(request.text, MarkedText("x")) for request in requests)

    marked = MarkedText.join([BOLD[0], "b", BOLD[1]])
    assert translate(lose, MarkedText("a"), marked) == ("['x', None]", ["line 2"])


def test_spans_that_patterns_found_are_text() -> None:
    def find(requests: Iterable[Request]) -> Iterator[Translation]:
        for request in requests:
            yield make_translation(request.text, MarkedText.join(["x ", Span("urls", "http://a", 0, 0)]))

    assert translate(find, MarkedText("see http://a"))[0] == "['x http://a']"


def test_error_names_the_unit() -> None:
    def fail(_requests: Iterable[Request]) -> Iterator[Translation]:
        raise StreamError(1, "too long")

    with pytest.raises(UserError, match="line 3: too long"):
        translate(fail, MarkedText("a"), MarkedText("a"), MarkedText("b"))


def test_subtitles() -> None:
    content = b"1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\n"
    translated = translate_document(content, SRT_FORMAT, DocumentOptions(), Recorder([]))
    assert translated.content == content.replace(b"Hello", b"HELLO")
