"""Text of any layout through a translator that writes capitals."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.inference.translation import (
    EMPTY_OUTPUT,
    Alternative,
    Translation,
    format_line,
    translate_paragraphs,
)
from weft.text.sentences import SentenceSplitter

LETTER = "\n".join(
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


def capitals(sentence: str) -> Translation:
    alternative = Alternative(sentence.upper(), -1.0, (sentence,), (-1.0,), finished=True)
    return Translation(sentence, (alternative if sentence else EMPTY_OUTPUT,), truncated=len(sentence) > 40)


class Capitals:
    """Reads `window` sentences before it gives the first, as a translator does."""

    def __init__(self, window: int):
        self.window = window
        self.asked: list[str] = []

    def stream(self, sentences: Iterable[str]) -> Iterator[Translation]:
        remaining = iter(sentences)
        while window := list(islice(remaining, self.window)):
            self.asked += window
            yield from map(capitals, window)


def in_capitals(text: str, window: int = 3) -> str:
    lines = translate_paragraphs(Capitals(window).stream, text.split("\n"), SentenceSplitter())
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_a_letter_keeps_its_layout(window: int) -> None:
    assert in_capitals(LETTER, window) == LETTER.upper()


def test_the_translator_is_asked_for_sentences_only() -> None:
    translator = Capitals(100)
    list(translate_paragraphs(translator.stream, LETTER.split("\n"), SentenceSplitter()))
    assert [sentence for sentence in translator.asked if sentence] == [
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


@given(st.text(st.sampled_from("ab B.!?-*>1\t\n\u2028\r中。")), st.integers(1, 5))
def test_every_character_stays_in_its_place(text: str, window: int) -> None:
    assert in_capitals(text, window) == text.upper()


def test_a_line_knows_its_sentences() -> None:
    long = "This is a sentence of more than forty letters."
    lines = list(translate_paragraphs(Capitals(2).stream, [f" One. {long} ", "", "Two."], SentenceSplitter()))
    assert [line.source for line in lines] == [f" One. {long} ", "", "Two."]
    assert [[sentence.source for sentence in line.sentences] for line in lines] == [["One.", long], [], ["Two."]]
    assert [line.truncated for line in lines] == [True, False, False]


def test_a_line_of_text_and_a_line_of_json() -> None:
    (line,) = translate_paragraphs(Capitals(2).stream, ["- É. "], SentenceSplitter())
    assert format_line(line, as_json=False) == "- É. \n"
    record = {"source": "- É. ", "text": "- É. ", "sentences": [capitals("É.").record()]}
    assert format_line(line, as_json=True) == json.dumps(record, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("line", ["", "-----", "One.", "One. Two. Three."])
def test_no_more_is_read_than_the_translator_asks_for(line: str) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield line

    for number, _ in enumerate(islice(translate_paragraphs(Capitals(4).stream, endless(), SentenceSplitter()), 50), 1):
        assert read <= number + 4


def test_an_answer_comes_before_the_next_line_is_read() -> None:
    lines = iter(["One. Two.", "", "Three."])
    done = translate_paragraphs(Capitals(1).stream, lines, SentenceSplitter())
    assert next(done).text == "ONE. TWO."
    assert next(lines) == ""
