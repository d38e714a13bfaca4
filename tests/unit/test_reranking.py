"""Alternatives in another order, by what other models think of them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from unit.models import BAHDANAU, LANGUAGE, TRANSFORMER, letters, saved, untrained
from weft.cli.rerank import rerank
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch
from weft.inference.reranking import LISTS_PER_WINDOW, RerankedLine, make_reranker
from weft.inference.scoring import Scorer
from weft.inference.translator import Translator
from weft.text.tokenizer_training import ByteTokenizerTrainer

LINES = ["abc", "deadbeef", "cab", "bb", "e"]
FIRST = untrained(TRANSFORMER)
BACKWARD = untrained(BAHDANAU, 2, target=letters().reversed())
OTHER = untrained(BAHDANAU, 3, source=letters(ByteTokenizerTrainer()), target=letters(ByteTokenizerTrainer()))


@pytest.fixture(scope="module")
def listed() -> list[str]:
    """What `weft translate --json --n-best 4` writes."""
    translations = Translator(FIRST, BeamSearch(size=4, n_best=4), FIRST.recipe.translate).translate(LINES)
    return [json.dumps(one.record()) for one in translations]


def texts(reranked: list[RerankedLine]) -> list[list[str]]:
    return [[one.alternative["text"] for one in line.ranked] for line in reranked]


def read(listed: list[str]) -> list[list[str]]:
    return [[one["text"] for one in json.loads(line)["alternatives"]] for line in listed]


def test_the_search_alone_keeps_its_order(listed: list[str]) -> None:
    reranker = make_reranker([Scorer(OTHER)], [1, 0], alpha=1.0)
    assert texts(list(reranker.stream(listed))) == read(listed)


def test_the_sum_of_all_scores_decides(listed: list[str]) -> None:
    scorers, weights = [Scorer(BACKWARD), Scorer(OTHER)], [0.5, 1.0, 2.0]
    reranked = list(make_reranker(scorers, weights, alpha=0.7).stream(listed))
    assert texts(reranked) != read(listed)
    for source, line in zip(LINES, reranked, strict=True):
        totals = [one.total for one in line.ranked]
        assert totals == sorted(totals, reverse=True)
        for alternative, scores, total in line.ranked:
            given = [next(scorer.stream([(source, alternative["text"])])) for scorer in scorers]
            assert scores == pytest.approx([alternative["score"], *(one.score for one in given)])
            lengths = [len(alternative["tokens"]), *(len(one.tokens) for one in given)]
            parts = zip(weights, scores, lengths, strict=True)
            assert total == pytest.approx(sum(weight * score / length**0.7 for weight, score, length in parts))
    assert [sorted(line) for line in texts(reranked)] == [sorted(line) for line in read(listed)]


def test_a_model_that_says_lines_from_right_to_left_scores_them_so() -> None:
    forward = BACKWARD._replace(target_tokenizer=letters())
    [backward] = Scorer(BACKWARD).stream([("abc", "abd")])
    [as_it_is] = Scorer(forward).stream([("abc", "dba")])
    assert backward.score == pytest.approx(as_it_is.score)
    assert backward.tokens == ("d", "b", "a", "<end>")


def test_many_lists_are_read_in_parts(listed: list[str]) -> None:
    reranker = make_reranker([Scorer(OTHER)], None, alpha=1.0)
    once = texts(list(reranker.stream(listed)))
    copies = LISTS_PER_WINDOW // len(listed) + 1
    assert texts(list(reranker.stream(listed * copies))) == once * copies


def test_the_command_writes_texts_or_records(
    listed: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in listed), "utf-8")
    model, language = saved(tmp_path / "model", BACKWARD), saved(tmp_path / "language", untrained(LANGUAGE))
    rerank(model, tmp_path / "list", scorers=[language], weights="1,1,0.5", output=tmp_path / "texts")
    rerank(model, tmp_path / "list", scorers=[language], weights="1,1,0.5", json=True)
    records: list[dict[str, Any]] = list(map(json.loads, capsysbinary.readouterr().out.decode().split("\n")[:-1]))
    assert [record["text"] for record in records] == (tmp_path / "texts").read_text("utf-8").split("\n")[:-1]
    for record in records:
        best = record["alternatives"][0]
        assert (record["text"], record["score"]) == (best["text"], best["score"])
        assert len(best["scores"]) == 3
        assert best["scores"][0] == best["score"]
        assert best["ranking_score"] == max(one["ranking_score"] for one in record["alternatives"])


def test_what_cannot_be_comes_last() -> None:
    alternatives = [{"text": "a", "score": None, "tokens": ["a", "<end>"]}, {"text": "", "score": 0, "tokens": []}]
    line = json.dumps({"source": "abc", "alternatives": alternatives})
    [one] = make_reranker([Scorer(FIRST)], None, alpha=1.0).stream([line])
    assert [ranked.alternative["text"] for ranked in one.ranked] == ["", "a"]
    assert one.ranked[1].total == -math.inf


LISTS_WITH_MISTAKES = [
    ("ein Mann", "line 2: not JSON (.*). N-best lists come from: weft translate MODEL INPUT --json --n-best 10"),
    ("[]", "line 2: has no source with its alternatives. N-best lists"),
    ('{"source": "abc", "text": "a"}', "line 2: has no source with its alternatives"),
    ('{"source": "abc", "alternatives": []}', "line 2: has no source with its alternatives"),
    ('{"source": "abc", "alternatives": [{"text": "a"}]}', "line 2: has no source with its alternatives"),
]


@pytest.mark.parametrize(("line", "told"), LISTS_WITH_MISTAKES)
def test_lists_that_are_none_are_told(listed: list[str], line: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        list(make_reranker([Scorer(FIRST)], None, alpha=1.0).stream([listed[0], line]))


def test_a_line_that_is_too_long_for_a_model_is_told(listed: list[str]) -> None:
    short = untrained(TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 4}}})
    alternative = {"text": "abcd", "score": -1.0, "tokens": ["a", "b", "c", "d", "<end>"]}
    lines = [
        json.dumps({"source": "a", "alternatives": [alternative | {"text": "a"}] * 3}),
        json.dumps({"source": "a", "alternatives": [alternative]}),
    ]
    with pytest.raises(UserError, match="line 2: the target has 4 tokens, but this model has positions for 3"):
        list(make_reranker([Scorer(short)], None, alpha=1.0).stream(lines))


WEIGHTS = [
    ([1.0], "weights: got 1 number, expected 2: one for the scores in the list, then one for each model"),
    ([1.0, -1.0], "weights: got 1, -1: none should be negative, and not all of them 0"),
    ([0.0, 0.0], "weights: got 0, 0: none should be negative, and not all of them 0"),
]


@pytest.mark.parametrize(("weights", "told"), WEIGHTS)
def test_weights_that_cannot_be_are_told(weights: list[float], told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        make_reranker([Scorer(FIRST)], weights, alpha=1.0)
