"""The search benchmark: compared searches and their figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.search_comparison.results import (
    BelowGreedy,
    Row,
    SearchOutputs,
    below_greedy,
    length_ratio,
    rows_of,
    run_search,
)
from benchmarks.search_comparison.search_settings import GREEDY, SEARCHES

from unit.models import BAHDANAU, save_model_folder, untrained_model
from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.decoding.length_penalty import LengthPenalty
from weft.decoding.search import Search

REFERENCES = ["a man sleeps .", "two dogs run on grass .", "a small child ."]


def found(*scores: float, texts: list[str] | None = None) -> SearchOutputs:
    return SearchOutputs(texts or REFERENCES, scores, 1.5)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return rows of greedy search and of two searches that are less probable on zero lines and on one line."""
    return rows_of(
        {
            GREEDY: found(-1.0, -2.0, -3.0, texts=["A man .", "two dogs run .", "a child ."]),
            "beam-5-none": found(-1.00001, -1.0, -3.0),
            "beam-5": found(-1.0, -2.5, -2.0),
        },
        REFERENCES,
    )


# --- Searches --------------------------------------------------------------------------------------------------------


def search_config(name: str) -> dict[str, Any]:
    """Return the recipe node of the named search."""
    node: dict[str, Any] = to_dict(load_recipe({}, SEARCHES[name]), REGISTRY)["translate"]["search"]
    return node


def test_every_length_penalty_and_search_is_compared() -> None:
    nodes = [search_config(name) for name in SEARCHES]
    penalties = [node["length_penalty"]["type"] for node in nodes if node["type"] == "beam" and node["size"] == 5]
    assert set(penalties) == set(REGISTRY[LengthPenalty])
    assert {node["type"] for node in nodes} == set(REGISTRY[Search]) - {"exhaustive"}


# --- Figures ---------------------------------------------------------------------------------------------------------


def test_lines_less_probable_than_greedy_are_found() -> None:
    scores: Mapping[str, SearchOutputs] = {GREEDY: found(-1.0, -2.0, -3.0), "beam-5": found(-1.00001, -2.5, -2.0)}
    assert below_greedy(scores, "beam-5") == [BelowGreedy(2, -2.5, -2.0, REFERENCES[1], REFERENCES[1])]
    assert below_greedy(scores, GREEDY) is None
    assert below_greedy({"beam-5": scores["beam-5"]}, "beam-5") is None


def test_length_ratio_counts_words_as_bleu_does() -> None:
    assert length_ratio(["a man."], ["two big dogs run fast."]) == pytest.approx(3 / 6)
    assert length_ratio(["one", "two three four"], ["one two three", "four"]) == 1


def test_scores_ignore_case(rows: list[Row]) -> None:
    greedy, plain, beam = rows
    assert (plain.bleu.value, plain.chrf.value, plain.length) == pytest.approx((100, 100, 1))
    assert "case:lc" in plain.bleu.signature
    assert "case:lc" in plain.chrf.signature
    assert greedy.bleu.value < 90
    assert greedy.length == pytest.approx(10 / 14)
    assert greedy.p is None
    assert 0 < (plain.p or 0) <= 1
    shares = [row.at_least_greedy() for row in (greedy, plain, beam)]
    assert [None if share is None else share.right for share in shares] == [None, 3, 2]


# --- Runs ------------------------------------------------------------------------------------------------------------


def test_every_search_produces_outputs(tmp_path: Path) -> None:
    run = save_model_folder(tmp_path / "tiny", untrained_model(BAHDANAU))
    outputs = {name: run_search(run, name, ["abc", "de"]) for name in SEARCHES}
    for output in outputs.values():
        assert len(output.texts) == len(output.scores) == 2
        assert max(output.scores) < 0 < output.seconds
    assert below_greedy(outputs, "beam-5-none-greedy") == []
