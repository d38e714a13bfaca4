"""Metrics against sacrebleu called directly, and against edit distance written out."""

import json
import subprocess
import sys
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import METRICS, evaluate, evaluate_segments
from weft.metrics.score_report import format_scores, scores_to_json
from weft.metrics.scores import DEFAULT_OPTIONS, ConfidenceInterval, MetricOptions, MetricScore, Segments

OUTPUTS = ["The cat sat on the mat.", "a small Dog ran", "", "no one knew why, she said"]
FIRST = ["The cat sat on a mat.", "A small dog ran away", "it rains", "nobody knew why, she said"]
SECOND = ["A cat was on the mat.", "a small dog ran", "", "she said that nobody knew why"]
SOURCES = ["die Katze", "ein Hund", "es regnet", "wer weiß"]
ONE = [[line] for line in FIRST]
TWO = [list(pair) for pair in zip(FIRST, SECOND, strict=True)]

words = st.lists(st.sampled_from(["a", "b", "ab", "ba", "é"]), max_size=5).map(" ".join)


def only(
    outputs: list[str], references: list[list[str]], name: str, options: MetricOptions = DEFAULT_OPTIONS
) -> MetricScore:
    (score,) = evaluate(outputs, references, [name], options)
    return score


def distance(one: list[str], other: list[str]) -> int:
    """Edit distance by its recurrence (Wagner and Fischer 1974)."""
    above = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(other, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right)))
        above = row
    return above[-1]


def test_one_reference_is_sacrebleu() -> None:
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = only(OUTPUTS, ONE, name)
        assert score.value == metric.corpus_score(OUTPUTS, [FIRST]).score
        assert score.signature == str(metric.get_signature())
        assert "nrefs:1|" in score.signature


def test_two_references_are_sacrebleu() -> None:
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = only(OUTPUTS, TWO, name)
        assert score.value == metric.corpus_score(OUTPUTS, [FIRST, SECOND]).score != only(OUTPUTS, ONE, name).value
        assert score.signature == str(metric.get_signature())


def test_different_numbers_of_references() -> None:
    references = [TWO[0], ONE[1], TWO[2], ONE[3]]
    streams = [FIRST, [SECOND[0], None, SECOND[2], None]]
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = only(OUTPUTS, references, name)
        assert score.value == metric.corpus_score(OUTPUTS, streams).score  # type: ignore[arg-type]
        assert "nrefs:var" in score.signature
    assert "nrefs:var" in only(OUTPUTS, references, "wer").signature


def test_options_reach_the_metrics() -> None:
    options = MetricOptions(lowercase=True, tokenize="char")
    metric = BLEU(lowercase=True, tokenize="char")
    score = only(OUTPUTS, ONE, "bleu", options)
    assert score.value == metric.corpus_score(OUTPUTS, [FIRST]).score
    assert "case:lc" in score.signature
    assert "tok:char" in score.signature
    assert only(OUTPUTS, ONE, "chrf", options).value == CHRF(lowercase=True).corpus_score(OUTPUTS, [FIRST]).score
    assert only(["Dog"], [["dog"]], "exact").value == only(["Dog"], [["dog"]], "exact", options).value - 100
    assert only(["Dog"], [["dog"]], "wer").value == 100
    assert only(["Dog"], [["dog"]], "wer", options).value == 0
    assert "case:lc" in only(["Dog"], [["dog"]], "wer", options).signature


def test_known_error_rates() -> None:
    assert only(["money"], [["monkey"]], "cer").value == pytest.approx(100 / 6)
    assert only(["monkey"], [["money"]], "cer").value == pytest.approx(100 / 5)
    assert only(["the money ran"], [["the monkey ran off"]], "wer").value == pytest.approx(100 * 2 / 4)
    assert only(["a b", "c"], [["a b"], ["x y z"]], "wer").value == pytest.approx(100 * 3 / 5)


def test_nearest_reference_counts() -> None:
    assert only(["a b c"], [["x y z", "a b c d"]], "wer").value == pytest.approx(100 / 4)
    # One edit from either: the longer one's length counts, whatever the order.
    assert only(["a b"], [["a", "a b c"]], "wer") == only(["a b"], [["a b c", "a"]], "wer")
    assert only(["a b"], [["a", "a b c"]], "wer").value == pytest.approx(100 / 3)


@pytest.mark.parametrize(("name", "units"), [("wer", str.split), ("cer", list)])
@given(pairs=st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_error_rates_are_brute_force(name: str, units: type[list[str]], pairs: list[tuple[str, list[str]]]) -> None:
    edits = length = 0
    for line, references in pairs:
        near = min((distance(units(line), units(one)), -len(units(one))) for one in references)
        edits, length = edits + near[0], length - near[1]
    wanted = 100 * edits / length if length else 100.0 * (edits > 0)
    found = only([line for line, _ in pairs], [references for _, references in pairs], name)
    assert found.value == pytest.approx(wanted)


def test_edits_are_counted_by_kind() -> None:
    assert only(["the money ran x"], [["the monkey ran"]], "wer").counts == (
        ("correct", 2),
        ("substitutions", 1),
        ("deletions", 0),
        ("insertions", 1),
    )
    assert dict(only(["a"], [["a b c"]], "cer").counts)["deletions"] == 4


def test_position_independent_errors() -> None:
    assert only(["c b a"], [["a b c"]], "per").value == 0
    assert only(["a a x"], [["a b c d"]], "per").value == pytest.approx(100 * 3 / 4)
    assert dict(only(["a a x"], [["a b c d"]], "per").counts) == {
        "correct": 1,
        "substitutions": 2,
        "deletions": 1,
        "insertions": 0,
    }
    assert only(["a b c"], [["a"]], "per").value == 200
    assert "|weft:" in only(["a"], [["a"]], "per").signature


@given(words, words)
def test_position_independent_errors_are_those_of_the_best_order(line: str, reference: str) -> None:
    fewest = min(distance(list(order), reference.split()) for order in permutations(line.split()))
    edits = dict(only([line], [[reference]], "per").counts)
    assert edits["substitutions"] + edits["deletions"] + edits["insertions"] == fewest


def test_exact_match() -> None:
    assert only(OUTPUTS, TWO, "exact").value == 25
    assert only(FIRST, TWO, "exact").value == 100
    assert only(OUTPUTS, ONE, "exact").value == 0


def test_perfect_output() -> None:
    scores = evaluate_segments(Segments(FIRST, TWO, SOURCES), list(METRICS))
    assert [score.name for score in scores] == list(METRICS)
    for score in scores:
        near = 1.0 if score.name == "meteor" else 1e-9  # which has a penalty for each run of matches: a line is one
        assert score.value == pytest.approx(100 if score.better == "higher" else 0, abs=near)
        assert score.signature


def test_empty_lines() -> None:
    for score in evaluate_segments(Segments(["", ""], [[""], [""]], ["", ""]), list(METRICS)):
        assert 0 <= score.value <= 100
    assert only([""], [[""]], "wer").value == 0
    assert only(["a b"], [[""]], "wer").value == 100


@pytest.mark.parametrize(
    ("outputs", "references", "metric", "message"),
    [
        (["a", "b"], [["a"]], "bleu", "2 output lines but 1 reference lines"),
        ([], [], "bleu", "no lines to evaluate"),
        (["a", "b"], [["a"], []], "wer", "line 2 has no reference"),
        (["a"], [["a"]], "blue", "unknown metric 'blue': did you mean 'bleu'"),
        (["a"], [["a"]], "zzz", "Use one of bleu, chrf, ter, meteor, exact, wer, cer, per"),
    ],
)
def test_mistakes_are_told(outputs: list[str], references: list[list[str]], metric: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(outputs, references, [metric])


def test_a_string_is_not_a_list_of_references() -> None:
    with pytest.raises(TypeError, match="line 1: the references must be a list"):
        evaluate(["ab"], ["ab"], ["exact"])


def test_unknown_tokenizer() -> None:
    with pytest.raises(UserError, match=r"unknown tokenizer '14a'\. Use one of none, zh, 13a"):
        only(["a"], [["a"]], "bleu", MetricOptions(tokenize="14a"))


def test_tokenizer_that_lacks_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_ja_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(UserError, match=r"'ja-mecab' cannot be used: .* pip install sacrebleu\[ja\]"):
        only(["a"], [["a"]], "bleu", MetricOptions(tokenize="ja-mecab"))


def test_render() -> None:
    scores = [
        MetricScore("bleu", 12.345, "higher", "nrefs:1"),
        MetricScore("exact", 100.0, "higher", "x"),
        MetricScore("wer", 7, "lower", ""),
    ]
    lines = format_scores(scores).split("\n")
    assert lines[0] == "bleu    12.35  higher is better  nrefs:1"
    assert [line.index(".") for line in lines] == [10, 10, 10]
    assert "lower is better" in lines[2]
    assert format_scores([]) == ""
    both = format_scores(
        [scores[0]._replace(interval=ConfidenceInterval(0.0, 23.0)), scores[2]._replace(signature="y")]
    ).split("\n")
    assert [line.index("nrefs" if "bleu" in line else " y") for line in both] == [40, 39]
    whole = MetricScore(
        "wer", 50.0, "lower", "x", ConfidenceInterval(48.0, 53.0), (("kept", 1200.0), ("inserted", 3.0))
    )
    assert format_scores([whole]).split("\n") == [
        "wer   50.00 ± 2.50  lower is better  x",
        "",
        "      kept  inserted",
        "wer  1,200         3",
    ]


def test_as_json() -> None:
    text = scores_to_json([MetricScore("bleu", 12.345, "higher", "nrefs:1")])
    bare = {"name": "bleu", "value": 12.345, "better": "higher", "signature": "nrefs:1"}
    assert json.loads(text) == [bare]
    text = scores_to_json(
        [MetricScore("bleu", 12.345, "higher", "nrefs:1", ConfidenceInterval(11.0, 13.5), (("kept", 2.0),))]
    )
    assert json.loads(text) == [{**bare, "interval": {"low": 11.0, "high": 13.5}, "counts": {"kept": 2.0}}]


def test_importing_is_cheap() -> None:
    program = (
        "import sys, weft.metrics.corpus_metrics; print(sorted({'sacrebleu', 'rapidfuzz', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
