"""Rerank n-best lists by the scores of other models."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from unit.models import BAHDANAU, LANGUAGE, TRANSFORMER, letter_tokenizer, save_model_folder, untrained_model
from weft.cli.score import rerank
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch
from weft.inference.reranking import LISTS_PER_WINDOW, RerankedLine, make_reranker
from weft.inference.scoring import Scorer
from weft.inference.translator import Translator
from weft.text.tokenizer_training import ByteTokenizerTrainer

LINES = ["abc", "deadbeef", "cab", "bb", "e"]
FIRST = untrained_model(TRANSFORMER)
BACKWARD = untrained_model(BAHDANAU, 2, target=letter_tokenizer().reversed())
OTHER = untrained_model(
    BAHDANAU, 3, source=letter_tokenizer(ByteTokenizerTrainer()), target=letter_tokenizer(ByteTokenizerTrainer())
)


@pytest.fixture(scope="module")
def n_best_lists() -> list[str]:
    """The output of `weft translate --json --n-best 4`."""
    translations = Translator(FIRST, BeamSearch(size=4, n_best=4), FIRST.recipe.translate).translate(LINES)
    return [json.dumps(translation.record()) for translation in translations]


def reranked_texts(reranked: list[RerankedLine]) -> list[list[str]]:
    return [[ranked.alternative["text"] for ranked in line.ranked] for line in reranked]


def original_texts(n_best_lists: list[str]) -> list[list[str]]:
    return [[alternative["text"] for alternative in json.loads(line)["alternatives"]] for line in n_best_lists]


def test_weight_on_the_search_score_alone_keeps_the_order(n_best_lists: list[str]) -> None:
    reranker = make_reranker([Scorer(OTHER)], [1, 0], alpha=1.0)
    assert reranked_texts(list(reranker.stream(n_best_lists))) == original_texts(n_best_lists)


def test_order_follows_the_weighted_sum_of_scores(n_best_lists: list[str]) -> None:
    scorers, weights = [Scorer(BACKWARD), Scorer(OTHER)], [0.5, 1.0, 2.0]
    reranked = list(make_reranker(scorers, weights, alpha=0.7).stream(n_best_lists))
    assert reranked_texts(reranked) != original_texts(n_best_lists)
    for source, line in zip(LINES, reranked, strict=True):
        totals = [ranked.total for ranked in line.ranked]
        assert totals == sorted(totals, reverse=True)
        for alternative, scores, total in line.ranked:
            scored_pairs = [next(scorer.stream([(source, alternative["text"])])) for scorer in scorers]
            assert scores == pytest.approx([alternative["score"], *(scored.score for scored in scored_pairs)])
            lengths = [len(alternative["tokens"]), *(len(scored.tokens) for scored in scored_pairs)]
            terms = zip(weights, scores, lengths, strict=True)
            assert total == pytest.approx(sum(weight * score / length**0.7 for weight, score, length in terms))
    assert [sorted(line) for line in reranked_texts(reranked)] == [
        sorted(line) for line in original_texts(n_best_lists)
    ]


def test_right_to_left_model_scores_reversed_lines() -> None:
    forward = BACKWARD._replace(target_tokenizer=letter_tokenizer())
    [backward] = Scorer(BACKWARD).stream([("abc", "abd")])
    [reversed_text] = Scorer(forward).stream([("abc", "dba")])
    assert backward.score == pytest.approx(reversed_text.score)
    assert backward.tokens == ("d", "b", "a", "<end>")


def test_many_lists_are_processed_in_windows(n_best_lists: list[str]) -> None:
    reranker = make_reranker([Scorer(OTHER)], None, alpha=1.0)
    once = reranked_texts(list(reranker.stream(n_best_lists)))
    copies = LISTS_PER_WINDOW // len(n_best_lists) + 1
    assert reranked_texts(list(reranker.stream(n_best_lists * copies))) == once * copies


def test_command_writes_texts_or_records(
    n_best_lists: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in n_best_lists), "utf-8")
    model, language = (
        save_model_folder(tmp_path / "model", BACKWARD),
        save_model_folder(tmp_path / "language", untrained_model(LANGUAGE)),
    )
    rerank(model, tmp_path / "list", scorers=[language], weights="1,1,0.5", output=tmp_path / "texts")
    rerank(model, tmp_path / "list", scorers=[language], weights="1,1,0.5", json=True)
    records: list[dict[str, Any]] = list(map(json.loads, capsysbinary.readouterr().out.decode().split("\n")[:-1]))
    assert [record["text"] for record in records] == (tmp_path / "texts").read_text("utf-8").split("\n")[:-1]
    for record in records:
        best = record["alternatives"][0]
        assert (record["text"], record["score"]) == (best["text"], best["score"])
        assert len(best["scores"]) == 3
        assert best["scores"][0] == best["score"]
        assert best["ranking_score"] == max(alternative["ranking_score"] for alternative in record["alternatives"])


def test_alternative_without_probability_ranks_last() -> None:
    alternatives = [{"text": "a", "score": None, "tokens": ["a", "<end>"]}, {"text": "", "score": 0, "tokens": []}]
    line = json.dumps({"source": "abc", "alternatives": alternatives})
    [reranked] = make_reranker([Scorer(FIRST)], None, alpha=1.0).stream([line])
    assert [ranked.alternative["text"] for ranked in reranked.ranked] == ["", "a"]
    assert reranked.ranked[1].total == -math.inf


MALFORMED_LISTS = [
    ("ein Mann", "line 2: not JSON (.*). N-best lists come from: weft translate MODEL INPUT --json --n-best 10"),
    ("[]", "line 2: has no source with its alternatives. N-best lists"),
    ('{"source": "abc", "text": "a"}', "line 2: has no source with its alternatives"),
    ('{"source": "abc", "alternatives": []}', "line 2: has no source with its alternatives"),
    ('{"source": "abc", "alternatives": [{"text": "a"}]}', "line 2: has no source with its alternatives"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED_LISTS)
def test_malformed_list_is_reported(n_best_lists: list[str], line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(make_reranker([Scorer(FIRST)], None, alpha=1.0).stream([n_best_lists[0], line]))


def test_line_too_long_for_a_model_is_reported(n_best_lists: list[str]) -> None:
    short = untrained_model(TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 4}}})
    alternative = {"text": "abcd", "score": -1.0, "tokens": ["a", "b", "c", "d", "<end>"]}
    lines = [
        json.dumps({"source": "a", "alternatives": [alternative | {"text": "a"}] * 3}),
        json.dumps({"source": "a", "alternatives": [alternative]}),
    ]
    with pytest.raises(UserError, match="line 2: the target has 4 tokens, but this model has positions for 3"):
        list(make_reranker([Scorer(short)], None, alpha=1.0).stream(lines))


INVALID_WEIGHTS = [
    ([1.0], "weights: got 1 number, expected 2: one for the scores in the list, then one for each model"),
    ([1.0, -1.0], "weights: got 1, -1: none should be negative, and not all of them 0"),
    ([0.0, 0.0], "weights: got 0, 0: none should be negative, and not all of them 0"),
]


@pytest.mark.parametrize(("weights", "message"), INVALID_WEIGHTS)
def test_invalid_weights_are_reported(weights: list[float], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        make_reranker([Scorer(FIRST)], weights, alpha=1.0)
