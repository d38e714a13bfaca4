"""SRT and WebVTT: everything but the texts stays; lines are wrapped, sentences over several cues are joined."""

import time

import pytest

from unit.document_checks import change_words, check_mutations, fill, locations, read, texts
from weft.documents.document import DocumentError
from weft.documents.line_wrapping import wrap_marked
from weft.documents.subtitles import SRT_FORMAT, VTT_FORMAT
from weft.text.marked_text import MarkedText

TIMES = "00:00:01,000 --> 00:00:02,500"
SRT = (
    f"\ufeff1\r\n{TIMES}\r\n{{\\an8}}<i>The dog <b>sees</b>\r\nthe cat.</i>\r\n\r\n"
    f"2\r\n{TIMES}\r\n- Who is it?\r\n- Nobody.\r\n\r\n"
    f"3\r\n{TIMES}\r\nI went there because\r\n\r\n"
    f"4\r\n{TIMES}\r\nof the things that\r\nI wanted to see.\r\n\r\n"
    f"5\r\n{TIMES}\r\n♪♪\r\n"
).encode()
VTT = b"""WEBVTT - A title
Kind: captions

STYLE
::cue { color: red }

NOTE this is a comment

intro
00:01.000 --> 00:02.000 line:0 position:20%
<v Ann>Tom &amp; <c.yellow>Jerry</c> run

00:01:03.000 --> 00:01:04.000
Hello."""


def test_units_are_cues_speakers_and_sentences() -> None:
    assert texts(SRT_FORMAT, SRT) == [
        "The dog <b>sees</b> the cat.",
        "Who is it?",
        "Nobody.",
        "I went there because of the things that I wanted to see.",
    ]
    assert read(SRT_FORMAT, SRT).skipped == {"without text": 1}
    assert texts(VTT_FORMAT, VTT) == ["Tom & <c.yellow>Jerry</c> run", "Hello."]


def test_everything_around_the_texts_stays() -> None:
    filled = fill(SRT_FORMAT, SRT).content.decode()
    assert filled.startswith(f"\ufeff1\r\n{TIMES}\r\n{{\\an8}}<i>THE DOG <b>SEES</b> THE CAT.</i>\r\n\r\n2\r\n")
    assert "- WHO IS IT?\r\n- NOBODY.\r\n" in filled
    assert filled.endswith(f"5\r\n{TIMES}\r\n♪♪\r\n")
    assert filled.count(TIMES) == 5


def test_vtt_stays_and_special_characters_are_escaped() -> None:
    filled = fill(VTT_FORMAT, VTT, lambda text: f"{text.upper()} a<b --> &").content
    assert b"<v Ann>TOM &amp; a&lt;b --&gt; &amp;<c.yellow>JERRY" in filled
    assert filled.startswith(VTT[: VTT.index(b"<v Ann>")])
    assert texts(VTT_FORMAT, filled)[1] == "HELLO. a<b --> &"


def test_sentence_is_distributed_by_length() -> None:
    document = read(SRT_FORMAT, SRT)
    translation = MarkedText("Ich bin dorthin gegangen wegen der Dinge, die ich sehen wollte.")
    filled = document.fill([None, None, None, translation]).content.decode()
    assert f"3\r\n{TIMES}\r\nIch bin dorthin gegangen\r\n\r\n4\r\n" in filled
    assert "wegen der Dinge, die ich sehen wollte." in filled


@pytest.mark.parametrize("translation", ["", "One", "a\x01b c"])
def test_translations_that_do_not_fit_are_rejected(translation: str) -> None:
    document = read(SRT_FORMAT, SRT)
    filled = document.fill([None, None, None, MarkedText(translation)])
    assert (filled.content, locations(filled.rejected)) == (SRT, ["line 13"])


@pytest.mark.parametrize("text", ["Hello <i>you", "a --> b"])
def test_text_that_looks_like_srt_is_rejected(text: str) -> None:
    document = read(SRT_FORMAT, SRT)
    filled = document.fill([None, MarkedText(text), None, None])
    assert (filled.content, len(filled.rejected)) == (SRT, 1)


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("Hello world.", 2, ["Hello world."]),
        (
            "One two three four five six seven eight nine.",
            2,
            ["One two three four five", "six seven eight nine."],
        ),
        ("One two three four five six seven eight nine.", 1, ["One two three four five six seven eight nine."]),
        ("Donaudampfschifffahrtsgesellschaftskapitänsmütze ist gut", 2, None),
        ("漢字" * 30, 2, ["漢字" * 15, "漢字" * 15]),
    ],
)
def test_lines_are_balanced(text: str, lines: int, expected: list[str] | None) -> None:
    wrapped = [line.text for line in wrap_marked(MarkedText(text), lines, 42)]
    assert wrapped == expected if expected else len(wrapped) <= lines
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


def test_two_encodings() -> None:
    content = b"\xff\xfe" + SRT.decode("utf-8-sig").encode("utf-16-le")
    filled = fill(SRT_FORMAT, content).content
    assert filled.decode("utf-16") == fill(SRT_FORMAT, SRT).content.decode("utf-8-sig")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"Just text.\n",
        b"1\n00:00:01,000 -> 00:00:02\nText\n",
        b"1\n00:00:01 --> 0\nText\n",
        b"1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9\n",
        b"1\n00:00:01,000 --> 00:00:02,000\na\0b\n",
        b"1\n00:00:01,000 --> 00:00:02,000\n" + b"a\n" * 1000,
    ],
)
def test_damaged_files(content: bytes) -> None:
    with pytest.raises(DocumentError):
        read(SRT_FORMAT, content)


def test_damaged_copies() -> None:
    assert 20 < check_mutations(SRT_FORMAT, SRT) < 190
    assert 20 < check_mutations(VTT_FORMAT, VTT) < 190


@pytest.mark.parametrize("text", ["<i>" * 30_000, "<" * 100_000 + "a", "word " * 30_000, "漢" * 30_000])
def test_hostile_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    document = read(SRT_FORMAT, f"1\n{TIMES}\n{text}\n".encode())
    document.fill([change_words(unit, lambda part: f"{part} x") for unit in document.units])
    assert time.process_time() - started < 10
