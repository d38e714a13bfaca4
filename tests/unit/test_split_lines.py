"""Translation of lines with any layout, with a backend that returns capital letters."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.models import letter_tokenizer
from weft.core.errors import UserError
from weft.decoding.constraints.glossary import Glossary
from weft.decoding.constraints.request import Request
from weft.inference.backends import Backend, StreamError
from weft.inference.text_translator import TextTranslator
from weft.inference.translation import EMPTY_OUTPUT, Alternative, Translation, format_line
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import SPAN_KINDS
from weft.text.word_alignment import WordLink, word_starts

TEXT = "\n".join(
    [
        "Dear Mr. Smith,",
        "",
        "  thank you for your letter.  It came today. ",
        "\t- One thing. Two things.",
        "\t- ",
        "1. First of all",
        "   ",
        "> Did you ask? Yes!",
        "-- ",
        "Ann\r",
        "",
    ]
)


class UppercaseBackend:
    """Reads `window` sentences before it returns the first, as a backend does. "error" is refused."""

    concurrency = 1

    def __init__(self, window: int = 3):
        self.window = window
        self.received: list[Request] = []
        self.source_codec = self.target_tokenizer = letter_tokenizer()

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        remaining, number = map(Request.of, lines), 0
        while window := list(islice(remaining, self.window)):
            self.received += window
            for request in window:
                if request.text == "error":
                    raise StreamError(number, "is refused")
                number += 1
            yield from map(uppercase_translation, window)

    def texts(self) -> list[str]:
        return [request.text for request in self.received if request.text]


def uppercase_translation(request: Request) -> Translation:
    text = request.text
    alternatives = tuple(Alternative(t, -1.0, (text,), (-1.0,), finished=True) for t in (text.upper(), text.lower()))
    links = tuple(WordLink(start, start) for start in word_starts(text))
    return Translation(text, alternatives if text else (EMPTY_OUTPUT,), truncated=len(text) > 40, alignment=links)


def no_torch() -> Any:
    raise AssertionError("torch is not needed")


def facade(backend: UppercaseBackend, **settings: Any) -> TextTranslator:
    settings = {"splitter": SentenceSplitter(), "chunk_size": 2, **settings}
    return TextTranslator(cast(Backend, backend), no_torch, **settings)


def translated(lines: Iterable[str | Request], window: int = 3, **settings: Any) -> list[Translation]:
    return list(facade(UppercaseBackend(window), **settings).stream(lines))


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_layout_is_preserved(window: int) -> None:
    lines = translated(TEXT.split("\n"), window)
    assert "\n".join(line.text for line in lines) == TEXT.upper()
    assert [line.source for line in lines] == TEXT.split("\n")


def test_backend_receives_only_sentences() -> None:
    list(facade(backend := UppercaseBackend(100)).stream(TEXT.split("\n")))
    assert [text for text in backend.texts() if text.strip()] == [
        "Dear Mr. Smith,",
        "thank you for your letter.",
        "It came today.",
        "One thing.",
        "Two things.",
        "First of all",
        "Did you ask?",
        "Yes!",
        "Ann",
    ]


@given(st.text(st.sampled_from("ab B.!?-*>1\t\u2028\r中。")), st.integers(1, 5))
def test_every_other_character_is_preserved(text: str, window: int) -> None:
    (line,) = translated([text], window)
    assert line.text == text.upper()


def test_line_of_several_sentences_joins_them() -> None:
    long = "This is a sentence of more than forty letters."
    line, blank, single = translated([f" One. {long} ", "", "Two."])
    assert [sentence.source for sentence in line.sentences] == ["One.", long]
    assert [one.text for one in line.alternatives] == [f" ONE. {long.upper()} ", f" one. {long.lower()} "]
    assert line.truncated
    assert line.score == -2.0
    assert line.alternatives[0].tokens == ()
    assert line.aligned_words == [(number, number) for number in range(10)]
    assert line.record()["sentences"] == [sentence.record() for sentence in line.sentences]
    assert single == uppercase_translation(Request("Two."))
    assert blank.sentences == ()


def test_single_sentence_with_layout_keeps_its_tokens() -> None:
    (line,) = translated(["- É. "])
    assert format_line(line, as_json=False) == "- É. \n"
    assert "sentences" not in json.loads(format_line(line, as_json=True))
    assert line.alternatives[0].tokens == ("É.",)
    assert line.alignment == (WordLink(2, 2),)


def test_spans_are_not_cut_and_markup_is_transparent() -> None:
    text = "<p>See <b>https://a.b/c?x. Yes</b>. Ann came.</p> <i>Bob left.</i> {a. B}"
    split = facade(UppercaseBackend()).split(Request(text, protect=SPAN_KINDS))
    assert [request.text for request in split.requests] == [
        "See <b>https://a.b/c?x.",
        "Yes</b>.",
        "Ann came.",
        "Bob left.",
        "{a. B}",
    ]


def test_spans_of_gaps_and_sentences_have_offsets_in_the_text() -> None:
    (line,) = translated([Request("<p>One.</p> Two.", protect=("markup",))])
    assert line.text == "<p>ONE.</p> TWO."
    assert [line.text[span.first : span.end] for span in line.spans] == ["<p>", "</p>"]
    assert [(span.text, span.method) for span in line.protected] == [("<p>", "copy"), ("</p>", "copy")]


def test_constraints_go_to_the_sentences_where_they_apply() -> None:
    glossary = Glossary({"cat": ("Katze",)}, {"": ("Hund",)})
    list(facade(backend := UppercaseBackend(), glossary=glossary).stream([Request("A cat. A dog.", prefix="Eine")]))
    first, second = backend.received
    assert (first.prefix, first.include, first.exclude) == ("Eine", (("Katze",),), ("Hund",))
    assert (second.prefix, second.include, second.exclude) == ("", (), ("Hund",))


def test_line_with_required_phrases_is_one_sentence() -> None:
    list(facade(backend := UppercaseBackend()).stream([Request("One. Two.", include=(("EINS",),))]))
    assert backend.texts() == ["One. Two."]


def test_error_names_the_line_not_the_sentence() -> None:
    with pytest.raises(UserError, match=r"^line 3: is refused"):
        translated(["One. Two. Three.", "--", "error"])


@pytest.mark.parametrize("line", ["", "-----", "One.", "One. Two. Three."])
def test_input_is_read_lazily(line: str) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield line

    for number, _ in enumerate(islice(facade(UppercaseBackend(4)).stream(endless()), 50), 1):
        assert read <= number + 6  # the window of the backend, and the chunk


def test_unbuffered_translation_is_returned_before_the_next_line_is_read() -> None:
    lines = iter(["One. Two.", "", "Three."])
    translations = facade(UppercaseBackend(1), chunk_size=1).stream(lines)
    assert next(translations).text == "ONE. TWO."
    assert next(lines) == ""
