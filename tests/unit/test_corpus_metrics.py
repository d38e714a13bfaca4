"""Compare metrics with direct calls of sacrebleu and with a plain edit distance."""

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
from weft.metrics.corpus_metrics import METRICS, evaluate
from weft.metrics.score_report import format_scores, scores_to_json
from weft.metrics.scores import DEFAULT_OPTIONS, ConfidenceInterval, MetricOptions, MetricScore, Segments

OUTPUTS = ["The cat sat on the mat.", "a small Dog ran", "", "no one knew why, she said"]
FIRST = ["The cat sat on a mat.", "A small dog ran away", "it rains", "nobody knew why, she said"]
SECOND = ["A cat was on the mat.", "a small dog ran", "", "she said that nobody knew why"]
SOURCES = ["die Katze", "ein Hund", "es regnet", "wer weiß"]
SINGLE_REFERENCES = [[line] for line in FIRST]
DOUBLE_REFERENCES = [list(pair) for pair in zip(FIRST, SECOND, strict=True)]

words = st.lists(st.sampled_from(["a", "b", "ab", "ba", "é"]), max_size=5).map(" ".join)


def evaluate_single(
    outputs: list[str], references: list[list[str]], name: str, options: MetricOptions = DEFAULT_OPTIONS
) -> MetricScore:
    (score,) = evaluate(Segments(outputs, references), [name], options)
    return score


def distance(first: list[str], second: list[str]) -> int:
    """Edit distance by its recurrence (Wagner and Fischer 1974)."""
    above = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        row = [i]
        for j, right in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right)))
        above = row
    return above[-1]


def test_single_reference_matches_sacrebleu() -> None:
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = evaluate_single(OUTPUTS, SINGLE_REFERENCES, name)
        assert score.value == metric.corpus_score(OUTPUTS, [FIRST]).score
        assert score.signature == str(metric.get_signature())
        assert "nrefs:1|" in score.signature


def test_two_references_match_sacrebleu() -> None:
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = evaluate_single(OUTPUTS, DOUBLE_REFERENCES, name)
        assert (
            score.value
            == metric.corpus_score(OUTPUTS, [FIRST, SECOND]).score
            != evaluate_single(OUTPUTS, SINGLE_REFERENCES, name).value
        )
        assert score.signature == str(metric.get_signature())


def test_different_numbers_of_references() -> None:
    references = [DOUBLE_REFERENCES[0], SINGLE_REFERENCES[1], DOUBLE_REFERENCES[2], SINGLE_REFERENCES[3]]
    streams = [FIRST, [SECOND[0], None, SECOND[2], None]]
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        score = evaluate_single(OUTPUTS, references, name)
        assert score.value == metric.corpus_score(OUTPUTS, streams).score  # type: ignore[arg-type]
        assert "nrefs:var" in score.signature
    assert "nrefs:var" in evaluate_single(OUTPUTS, references, "wer").signature


def test_options_reach_the_metrics() -> None:
    options = MetricOptions(lowercase=True, tokenize="char")
    metric = BLEU(lowercase=True, tokenize="char")
    score = evaluate_single(OUTPUTS, SINGLE_REFERENCES, "bleu", options)
    assert score.value == metric.corpus_score(OUTPUTS, [FIRST]).score
    assert "case:lc" in score.signature
    assert "tok:char" in score.signature
    assert (
        evaluate_single(OUTPUTS, SINGLE_REFERENCES, "chrf", options).value
        == CHRF(lowercase=True).corpus_score(OUTPUTS, [FIRST]).score
    )
    assert (
        evaluate_single(["Dog"], [["dog"]], "exact").value
        == evaluate_single(["Dog"], [["dog"]], "exact", options).value - 100
    )
    assert evaluate_single(["Dog"], [["dog"]], "wer").value == 100
    assert evaluate_single(["Dog"], [["dog"]], "wer", options).value == 0
    assert "case:lc" in evaluate_single(["Dog"], [["dog"]], "wer", options).signature


def test_known_error_rates() -> None:
    assert evaluate_single(["money"], [["monkey"]], "cer").value == pytest.approx(100 / 6)
    assert evaluate_single(["monkey"], [["money"]], "cer").value == pytest.approx(100 / 5)
    assert evaluate_single(["the money ran"], [["the monkey ran off"]], "wer").value == pytest.approx(100 * 2 / 4)
    assert evaluate_single(["a b", "c"], [["a b"], ["x y z"]], "wer").value == pytest.approx(100 * 3 / 5)


def test_nearest_reference_counts() -> None:
    assert evaluate_single(["a b c"], [["x y z", "a b c d"]], "wer").value == pytest.approx(100 / 4)
    # One edit from either: the length of the longer reference counts, whatever the order.
    assert evaluate_single(["a b"], [["a", "a b c"]], "wer") == evaluate_single(["a b"], [["a b c", "a"]], "wer")
    assert evaluate_single(["a b"], [["a", "a b c"]], "wer").value == pytest.approx(100 / 3)


@pytest.mark.parametrize(("name", "units"), [("wer", str.split), ("cer", list)])
@given(pairs=st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_error_rates_match_brute_force(name: str, units: type[list[str]], pairs: list[tuple[str, list[str]]]) -> None:
    edits = length = 0
    for line, references in pairs:
        nearest = min((distance(units(line), units(reference)), -len(units(reference))) for reference in references)
        edits, length = edits + nearest[0], length - nearest[1]
    expected = 100 * edits / length if length else 100.0 * (edits > 0)
    found = evaluate_single([line for line, _ in pairs], [references for _, references in pairs], name)
    assert found.value == pytest.approx(expected)


def test_edits_are_counted_by_kind() -> None:
    assert evaluate_single(["the money ran x"], [["the monkey ran"]], "wer").counts == (
        ("correct", 2),
        ("substitutions", 1),
        ("deletions", 0),
        ("insertions", 1),
    )
    assert dict(evaluate_single(["a"], [["a b c"]], "cer").counts)["deletions"] == 4


def test_position_independent_errors() -> None:
    assert evaluate_single(["c b a"], [["a b c"]], "per").value == 0
    assert evaluate_single(["a a x"], [["a b c d"]], "per").value == pytest.approx(100 * 3 / 4)
    assert dict(evaluate_single(["a a x"], [["a b c d"]], "per").counts) == {
        "correct": 1,
        "substitutions": 2,
        "deletions": 1,
        "insertions": 0,
    }
    assert evaluate_single(["a b c"], [["a"]], "per").value == 200
    assert "|weft:" in evaluate_single(["a"], [["a"]], "per").signature


@given(words, words)
def test_position_independent_errors_match_the_best_order(line: str, reference: str) -> None:
    fewest = min(distance(list(order), reference.split()) for order in permutations(line.split()))
    edits = dict(evaluate_single([line], [[reference]], "per").counts)
    assert edits["substitutions"] + edits["deletions"] + edits["insertions"] == fewest


def test_exact_match() -> None:
    assert evaluate_single(OUTPUTS, DOUBLE_REFERENCES, "exact").value == 25
    assert evaluate_single(FIRST, DOUBLE_REFERENCES, "exact").value == 100
    assert evaluate_single(OUTPUTS, SINGLE_REFERENCES, "exact").value == 0


def test_perfect_output() -> None:
    scores = evaluate(Segments(FIRST, DOUBLE_REFERENCES, SOURCES), list(METRICS))
    assert [score.name for score in scores] == list(METRICS)
    for score in scores:
        tolerance = 1.0 if score.name == "meteor" else 1e-9  # METEOR penalizes each run of matches; a line is a run
        assert score.value == pytest.approx(100 if score.better == "higher" else 0, abs=tolerance)
        assert score.signature


def test_empty_lines() -> None:
    for score in evaluate(Segments(["", ""], [[""], [""]], ["", ""]), list(METRICS)):
        assert 0 <= score.value <= 100
    assert evaluate_single([""], [[""]], "wer").value == 0
    assert evaluate_single(["a b"], [[""]], "wer").value == 100


@pytest.mark.parametrize(
    ("outputs", "references", "metric", "message"),
    [
        (["a", "b"], [["a"]], "bleu", "2 output lines but 1 reference lines"),
        ([], [], "bleu", "no lines to evaluate"),
        (["a", "b"], [["a"], []], "wer", "line 2 has no reference"),
        (["a"], [["a"]], "blue", 'unknown metric "blue"; did you mean "bleu"'),
        (["a"], [["a"]], "zzz", "use one of bleu, chrf, ter, meteor, exact, wer, cer, per"),
    ],
)
def test_invalid_input_is_reported(outputs: list[str], references: list[list[str]], metric: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(Segments(outputs, references), [metric])


def test_string_is_rejected_as_list_of_references() -> None:
    with pytest.raises(TypeError, match="line 1: the references must be a list"):
        evaluate(Segments(["ab"], ["ab"]), ["exact"])


def test_unknown_tokenizer_is_reported() -> None:
    with pytest.raises(UserError, match=r"unknown tokenizer '14a'\. Use one of none, zh, 13a"):
        evaluate_single(["a"], [["a"]], "bleu", MetricOptions(tokenize="14a"))


def test_missing_tokenizer_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_ja_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(UserError, match=r"'ja-mecab' cannot be used: .* pip install sacrebleu\[ja\]"):
        evaluate_single(["a"], [["a"]], "bleu", MetricOptions(tokenize="ja-mecab"))


def test_scores_are_formatted() -> None:
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


def test_scores_are_written_as_json() -> None:
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
