"""Output errors: repeated and copied words, lost numbers and addresses."""

import pytest

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.output_errors import count_addresses, count_numbers
from weft.metrics.scores import MetricOptions, MetricScore, Segments


def score_line(
    name: str, output: str, source: str | None = None, *references: str, lowercase: bool = False
) -> MetricScore:
    lines = Segments([output], [references or ("x",)], None if source is None else [source])
    (score,) = evaluate(lines, [name], MetricOptions(lowercase=lowercase))
    return score


def test_repetition_counts_repeated_bigrams() -> None:
    assert score_line("repetition", "a dog and a cat").value == 0
    assert score_line("repetition", "the man the man the man").value == pytest.approx(100 * 3 / 5)
    assert score_line("repetition", "word").value == 0


def test_copy_counts_source_words_that_no_reference_contains() -> None:
    assert score_line("copy", "der man in Berlin 7", "der Mann in Berlin 7", "the man in Berlin 7").value == 25  # der
    assert score_line("copy", "Der", "der", "the").value == 0
    assert score_line("copy", "Der", "der", "the", lowercase=True).value == 100
    assert score_line("copy", "7 .", "7 .", "seven").value == 0  # contains no word


def test_copy_needs_a_source() -> None:
    with pytest.raises(
        UserError, match=r"copy needs the source to count untranslated words: give the references as a \.tsv"
    ):
        evaluate(Segments(["a"], [["a"]]), ["copy"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1,000.50 and 3", ["100050", "3"]),
        ("1.000,50 und 3.", ["100050", "3"]),
        ("at 10:30, 2 or 3", ["1030", "2", "3"]),
        ("٣ and 3", ["3", "3"]),
        ("see www.a1.org/2 or b2@c3.de", []),
        ("A4 paper", ["4"]),
    ],
)
def test_count_numbers(line: str, expected: list[str]) -> None:
    assert sorted(count_numbers(line).elements()) == sorted(expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("See https://a.org/b?c=d#e, or www.x.de.", ["https://a.org/b?c=d#e", "www.x.de"]),
        ("(http://a.org/) Mail: jo.e+x@mail.example.org!", ["http://a.org/", "jo.e+x@mail.example.org"]),
        ("no@ address. at www or a@b", []),
    ],
)
def test_count_addresses(line: str, expected: list[str]) -> None:
    assert sorted(count_addresses(line).elements()) == sorted(expected)


def test_lost_and_invented_numbers_both_count() -> None:
    assert score_line("numbers", "3 dogs, 5 cats", "3 Hunde und 4 Katzen").value == 50
    assert dict(score_line("numbers", "3 dogs", "3 Hunde und 4 Katzen").counts) == {
        "matches": 1,
        "expected": 2,
        "found": 1,
    }
    assert score_line("numbers", "no number", "keine Zahl").value == 100
    assert "against:source" in score_line("numbers", "3", "3").signature


def test_without_a_source_the_closest_reference_is_used() -> None:
    score = score_line("numbers", "7 dogs", None, "seven dogs", "7 dogs")
    assert score.value == 100
    assert "against:references" in score.signature
    assert score_line("addresses", "at www.a.org", None, "at www.b.org").value == 0
