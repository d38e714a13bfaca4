"""The search benchmark: compared searches, figures, and a tiny run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.markdown import BEGIN, END
from benchmarks.search_comparison.results import (
    BelowGreedy,
    Row,
    SearchOutputs,
    below_greedy,
    length_ratio,
    rows_of,
    run_search,
)
from benchmarks.search_comparison.search_settings import GREEDY, SEARCHES, parse_searches
from benchmarks.search_comparison.tables import markdown, row_as_json, scores_table, settings_table
from benchmarks.searches import main

from unit.models import BAHDANAU, SUTSKEVER, save_model_folder, untrained_model
from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.decoding.length_penalty import LengthPenalty
from weft.decoding.search import Search

REFERENCES = ["a man sleeps .", "two dogs run on grass .", "a small child ."]
FACTS = {"cpu": "x", "cores": 2, "threads": 1, "torch": "2", "split": "valid", "lines": 3, "source": "a", "target": "b"}


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


def test_searches_are_selected_by_name_in_order() -> None:
    assert parse_searches(None) == list(SEARCHES)
    assert parse_searches("beam-5, greedy,beam-5") == ["beam-5", "greedy"]
    with pytest.raises(UserError, match=r'--searches: "beam5" is none of greedy, .*\. Is it beam-5\?'):
        parse_searches("greedy,beam5")


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


def test_table_has_one_line_per_search(rows: list[Row]) -> None:
    header, _, greedy, plain, beam = scores_table(rows).rstrip("\n").split("\n")
    assert header == "| search | BLEU | p, against greedy | chrF | length | seconds | log P at least greedy's |"
    assert greedy.startswith("| greedy | ")
    assert greedy.endswith(" | 0.71 | 1.5 |  |")
    assert plain.startswith("| beam-5-none | 100.0 ± 0.0 | ")
    assert plain.endswith(" | 100.0 | 1.00 | 1.5 | 100.0 % |")
    assert beam.endswith(" | 66.7 % |")


def test_page_contains_machine_settings_and_signatures(rows: list[Row]) -> None:
    page = markdown({"a model": rows}, FACTS)
    assert page.startswith(
        "x, cores: 2, threads: 1, torch 2. Multi30k, a to b, valid set, lines: 3.\n\n### a model\n\n|"
    )
    assert settings_table(["greedy"]).endswith('| greedy | `--set "translate.search=greedy"` |\n')
    assert "| beam-5-none | " in page
    assert "`beam-5`: log P" not in page  # it optimizes a different score
    assert "BLEU: `nrefs:1|case:lc|" in page


def test_json_contains_every_line_below_greedy(rows: list[Row]) -> None:
    plain, beam = (json.loads(json.dumps(row_as_json(row))) for row in rows[1:])
    assert (plain["at_least_greedy"], plain["below"]) == (1, [])
    assert beam["below"] == [
        {"line": 2, "score": -2.5, "greedy_score": -2.0, "text": REFERENCES[1], "greedy_text": "two dogs run ."}
    ]
    assert beam["bleu"]["interval"] == {"low": pytest.approx(100), "high": pytest.approx(100)}


# --- Runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def multi30k(tmp_path: Path) -> Path:
    for name, lines in (("val.de", "abc\nde\nbcd\n"), ("val.en", "cba\nED\ndcb\n")):
        (tmp_path / name).write_text(lines, "utf-8", newline="\n")
    return tmp_path


def test_tiny_run_writes_page_and_json(multi30k: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_model_folder(multi30k / "tiny", untrained_model(BAHDANAU))
    page, figures = multi30k / "page.md", multi30k / "searches.json"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", "utf-8")
    main(multi30k, [run], page=page, json_file=figures, threads=1, lines=2, searches="greedy,mbr-bleu")
    printed, progress = capsys.readouterr()
    assert page.read_text("utf-8") == f"before\n{BEGIN}{printed.removesuffix(chr(10))}{END}after\n"
    assert "### tiny\n" in printed
    assert [line.split(": ")[1] for line in progress.rstrip("\n").split("\n")] == ["greedy", "mbr-bleu"]
    saved_figures = json.loads(figures.read_text("utf-8"))
    assert [(row["search"], row["lines"]) for row in saved_figures["models"]["tiny"]] == [
        ("greedy", 2),
        ("mbr-bleu", 2),
    ]


def test_every_search_produces_outputs(tmp_path: Path) -> None:
    run = save_model_folder(tmp_path / "tiny", untrained_model(BAHDANAU))
    outputs = {name: run_search(run, name, ["abc", "de"]) for name in SEARCHES}
    for output in outputs.values():
        assert len(output.texts) == len(output.scores) == 2
        assert max(output.scores) < 0 < output.seconds
    assert below_greedy(outputs, "beam-5-none-greedy") == []


def test_invalid_options_are_reported_before_measuring(multi30k: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_model_folder(multi30k / "blind", untrained_model(SUTSKEVER))
    with pytest.raises(UserError, match=r"blind: beam-5-coverage: coverage_penalty needs .* \(--searches chooses oth"):
        main(multi30k, [run], searches="greedy,beam-5-coverage")
    with pytest.raises(UserError, match="is given twice"):
        main(multi30k, [run, run])
    with pytest.raises(UserError, match="there is no such file"):
        main(multi30k, [run], page=multi30k / "page.md")
    with pytest.raises(UserError, match=r"test_2016_flickr\.de: there is no such file"):
        main(multi30k, [run], split="test")
    assert capsys.readouterr() == ("", "")  # nothing was measured
