"""Repeated and copied words; numbers and addresses that must come through."""

import pytest

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import evaluate, evaluate_segments
from weft.metrics.output_errors import count_addresses, count_numbers
from weft.metrics.scores import MetricOptions, MetricScore, Segments


def only(name: str, output: str, source: str | None = None, *references: str, lowercase: bool = False) -> MetricScore:
    lines = Segments([output], [references or ("x",)], None if source is None else [source])
    (score,) = evaluate_segments(lines, [name], MetricOptions(lowercase=lowercase))
    return score


def test_repetition_counts_pairs_of_words_that_came_before() -> None:
    assert only("repetition", "a dog and a cat").value == 0
    assert only("repetition", "the man the man the man").value == pytest.approx(100 * 3 / 5)
    assert only("repetition", "word").value == 0


def test_copies_are_words_of_the_source_that_no_reference_has() -> None:
    assert only("copy", "der man in Berlin 7", "der Mann in Berlin 7", "the man in Berlin 7").value == 25  # der
    assert only("copy", "Der", "der", "the").value == 0
    assert only("copy", "Der", "der", "the", lowercase=True).value == 100
    assert only("copy", "7 .", "7 .", "seven").value == 0  # nothing there is a word


def test_copies_need_a_source() -> None:
    with pytest.raises(
        UserError, match=r"copy needs the source to count untranslated words: give the references as a \.tsv"
    ):
        evaluate(["a"], [["a"]], ["copy"])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("1,000.50 and 3", ["100050", "3"]),
        ("1.000,50 und 3.", ["100050", "3"]),
        ("at 10:30, 2 or 3", ["1030", "2", "3"]),
        ("٣ and 3", ["3", "3"]),
        ("see www.a1.org/2 or b2@c3.de", []),
        ("A4 paper", ["4"]),
    ],
)
def test_numbers(line: str, wanted: list[str]) -> None:
    assert sorted(count_numbers(line).elements()) == sorted(wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("See https://a.org/b?c=d#e, or www.x.de.", ["https://a.org/b?c=d#e", "www.x.de"]),
        ("(http://a.org/) Mail: jo.e+x@mail.example.org!", ["http://a.org/", "jo.e+x@mail.example.org"]),
        ("no@ address. at www or a@b", []),
    ],
)
def test_addresses(line: str, wanted: list[str]) -> None:
    assert sorted(count_addresses(line).elements()) == sorted(wanted)


def test_lost_and_invented_numbers_both_count() -> None:
    assert only("numbers", "3 dogs, 5 cats", "3 Hunde und 4 Katzen").value == 50
    assert dict(only("numbers", "3 dogs", "3 Hunde und 4 Katzen").counts) == {"matches": 1, "expected": 2, "found": 1}
    assert only("numbers", "no number", "keine Zahl").value == 100
    assert "against:source" in only("numbers", "3", "3").signature


def test_without_a_source_the_nearest_reference_counts() -> None:
    score = only("numbers", "7 dogs", None, "seven dogs", "7 dogs")
    assert score.value == 100
    assert "against:references" in score.signature
    assert only("addresses", "at www.a.org", None, "at www.b.org").value == 0
