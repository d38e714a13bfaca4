"""Sentence splitting that preserves every character of a line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.core.errors import UserError
from weft.text import sentences
from weft.text.sentences import SegmentedLine, SentenceSplitter

LANGUAGES = ["en", "de", "cs", "fr", "zh", "ja", "ar", "hi", "my", "hy", "el", "kk", "ru", "xx"]
FRAGMENTS = [
    *(
        "Mr. ",
        "z.B. ",
        "J. ",
        "Hello. ",
        '"Go."',
        "1. ",
        "- ",
        "> ",
        "[1]",
        "...",
        "。",
        "।",
        "?",
        "!",
        "(",
        ")",
        "“",
        "”",
    ),
    *(" ", "\t", "\r", "\u00a0", "\u2028", "\u3000", "\x85", "\x1c", "B", "é", "中", "🐈", "e\u0301", "\u200d"),
]
LINES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\n")), st.lists(st.sampled_from(FRAGMENTS)).map("".join)
)


@given(LINES, st.sampled_from(LANGUAGES))
@example("B\u3000. ", "fr")  # sentencex panics on this input
@example("J\u00a0. Dupont. Oui.", "fr")
def test_splitting_preserves_every_character(line: str, language: str) -> None:
    segmented = SentenceSplitter(language)(line)
    assert segmented.fill(segmented.sentences) == line
    assert len(segmented.gaps) == len(segmented.sentences) + 1
    for sentence in segmented.sentences:
        assert sentence == sentence.strip()
        assert any(map(str.isalnum, sentence))


@pytest.mark.parametrize(
    "wrong", [[], ["Hello. "], ["Hello. ", "You"], ["Hello", "You there, and more than there was. ", "Bye."]]
)
def test_wrong_library_output_preserves_every_character(wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "segment", lambda language, text: wrong)
    segmented = SentenceSplitter()("Hello. You there.")
    assert segmented.fill(segmented.sentences) == "Hello. You there."


@pytest.mark.parametrize(
    ("line", "gaps", "found"),
    [
        ("Hello there. How are you?", ["", " ", ""], ["Hello there.", "How are you?"]),
        ("\tOne.  Two! \t", ["\t", "  ", " \t"], ["One.", "Two!"]),
        ("Mr. Smith went. He left.", ["", " ", ""], ["Mr. Smith went.", "He left."]),
        ("你好。再见。", ["", "", ""], ["你好。", "再见。"]),
        ("One.\u00a0Two.\r", ["", "\u00a0", "\r"], ["One.", "Two."]),
        ("- Milk", ["- ", ""], ["Milk"]),
        ("  * Milk. Eggs.", ["  * ", " ", ""], ["Milk.", "Eggs."]),
        ("1. Do it. Then go.", ["1. ", " ", ""], ["Do it.", "Then go."]),
        ("12)\tDo it.", ["12)\t", ""], ["Do it."]),
        (">> > - Do it.", [">> > - ", ""], ["Do it."]),
        ("## A title", ["## ", ""], ["A title"]),
        ("1999. It was cold.", ["", " ", ""], ["1999.", "It was cold."]),
        ("3.5 litres", ["", ""], ["3.5 litres"]),
        ("-5 degrees", ["", ""], ["-5 degrees"]),
        ("*Stars* here", ["", ""], ["*Stars* here"]),
        ("Well. ... Yes.", ["", " ... ", ""], ["Well.", "Yes."]),
    ],
)
def test_sentences_and_gaps(line: str, gaps: list[str], found: list[str]) -> None:
    assert SentenceSplitter()(line) == SegmentedLine(tuple(gaps), tuple(found))


@pytest.mark.parametrize(
    ("language", "line", "gaps", "found"),
    [
        ("de", "3. Oktober ist ein Feiertag. Ja.", ["", " ", ""], ["3. Oktober ist ein Feiertag.", "Ja."]),
        ("de-AT", "> - 3. Oktober", ["> - ", ""], ["3. Oktober"]),
        ("de", "1. 3. Oktober", ["1. ", ""], ["3. Oktober"]),
        ("de", "1. Öffnen Sie es.", ["1. ", ""], ["Öffnen Sie es."]),
        ("nb", "17. mai er en fridag. Ja.", ["", " ", ""], ["17. mai er en fridag.", "Ja."]),
        ("cs", "  3.\u00a0října je středa.", ["  ", ""], ["3.\u00a0října je středa."]),
        ("nb", "17) mai er en fridag.", ["17) ", ""], ["mai er en fridag."]),
        ("nb", "17.", ["17."], []),
        ("en", "1. milk", ["1. ", ""], ["milk"]),
    ],
)
def test_ordinals_are_no_list_numbers(language: str, line: str, gaps: list[str], found: list[str]) -> None:
    assert SentenceSplitter(language)(line) == SegmentedLine(tuple(gaps), tuple(found))


@pytest.mark.parametrize(
    "line", ["", " ", "\t\u3000", "-", "- ", "1.", " 2) ", "-----", "* * *", "***", ">", "...", "🐈"]
)
def test_lines_without_a_sentence(line: str) -> None:
    assert SentenceSplitter()(line) == SegmentedLine((line,), ())


def test_rules_depend_on_the_language() -> None:
    line = "Am 3. Oktober war es kalt."
    assert len(SentenceSplitter("en")(line).sentences) > len(SentenceSplitter("de")(line).sentences) == 1


@pytest.mark.parametrize("code", ["de", "DE", "de-AT", "de_CH", "de-DE-1996"])
def test_region_is_ignored(code: str) -> None:
    assert SentenceSplitter(code).language == "de"


@pytest.mark.parametrize("code", ["qq", "tlh"])
def test_language_without_rules_uses_english(code: str) -> None:
    line = "Mr. Smith went. He left, e.g. to Rome. So what?"
    assert SentenceSplitter(code)(line) == SentenceSplitter("en")(line)


@pytest.mark.parametrize("code", ["", "e", "english", "en-", "en-x", "en US", "日本", "en\n"])
def test_invalid_language_code_is_reported(code: str) -> None:
    with pytest.raises(UserError) as caught:
        SentenceSplitter(code)
    assert str(caught.value) == f'language "{code}": not a language code. Use a code such as en, de or pt-BR.'


def test_text_that_the_library_changes_is_not_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "segment", lambda _language, text: [text[:3], text[4:]])
    assert SentenceSplitter("en")("One. Two.").sentences == ("One. Two.",)
