"""Translation of paragraphs with any layout, with a translator that returns capital letters."""

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


def uppercase_translation(sentence: str) -> Translation:
    alternative = Alternative(sentence.upper(), -1.0, (sentence,), (-1.0,), finished=True)
    return Translation(sentence, (alternative if sentence else EMPTY_OUTPUT,), truncated=len(sentence) > 40)


class UppercaseTranslator:
    """Reads `window` sentences before it returns the first, as a translator does."""

    def __init__(self, window: int):
        self.window = window
        self.received: list[str] = []

    def stream(self, sentences: Iterable[str]) -> Iterator[Translation]:
        remaining = iter(sentences)
        while window := list(islice(remaining, self.window)):
            self.received += window
            yield from map(uppercase_translation, window)


def translated_text(text: str, window: int = 3) -> str:
    lines = translate_paragraphs(UppercaseTranslator(window).stream, text.split("\n"), SentenceSplitter())
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_layout_is_preserved(window: int) -> None:
    assert translated_text(TEXT, window) == TEXT.upper()


def test_translator_receives_only_sentences() -> None:
    translator = UppercaseTranslator(100)
    list(translate_paragraphs(translator.stream, TEXT.split("\n"), SentenceSplitter()))
    assert [sentence for sentence in translator.received if sentence] == [
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
def test_every_other_character_is_preserved(text: str, window: int) -> None:
    assert translated_text(text, window) == text.upper()


def test_line_contains_its_sentences() -> None:
    long = "This is a sentence of more than forty letters."
    lines = list(
        translate_paragraphs(UppercaseTranslator(2).stream, [f" One. {long} ", "", "Two."], SentenceSplitter())
    )
    assert [line.source for line in lines] == [f" One. {long} ", "", "Two."]
    assert [[sentence.source for sentence in line.sentences] for line in lines] == [["One.", long], [], ["Two."]]
    assert [line.truncated for line in lines] == [True, False, False]


def test_line_is_formatted_as_text_or_json() -> None:
    (line,) = translate_paragraphs(UppercaseTranslator(2).stream, ["- É. "], SentenceSplitter())
    assert format_line(line, as_json=False) == "- É. \n"
    record = {"source": "- É. ", "text": "- É. ", "sentences": [uppercase_translation("É.").record()]}
    assert format_line(line, as_json=True) == json.dumps(record, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("line", ["", "-----", "One.", "One. Two. Three."])
def test_input_is_read_lazily(line: str) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield line

    for number, _ in enumerate(
        islice(translate_paragraphs(UppercaseTranslator(4).stream, endless(), SentenceSplitter()), 50), 1
    ):
        assert read <= number + 4


def test_translation_is_returned_before_the_next_line_is_read() -> None:
    lines = iter(["One. Two.", "", "Three."])
    translations = translate_paragraphs(UppercaseTranslator(1).stream, lines, SentenceSplitter())
    assert next(translations).text == "ONE. TWO."
    assert next(lines) == ""
