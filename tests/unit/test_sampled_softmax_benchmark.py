"""The sampled softmax benchmark: its artificial language, a tiny run, and its report."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sampled_softmax import draw_classes, draw_words, main, make_report, render, write_language
from benchmarks.training_rounds import Turn

TINY = {
    "classes": 20,
    "bucket": 50,
    "dim": 8,
    "layers": 1,
    "batch_tokens": 100,
    "rounds": 2,
    "updates": 1,
    "warm_up": 1,
}


def test_every_word_is_used_and_has_one_translation(tmp_path: Path) -> None:
    write_language(tmp_path, words=500, pairs=200)
    source, target = ((tmp_path / f"train.{side}").read_text("utf-8").split() for side in ("source", "target"))
    assert [word[1:] for word in source] == [word[1:] for word in target]
    assert {int(word[1:]) for word in target} == set(range(500))


def test_words_follow_their_classes_and_zipfs_law() -> None:
    draws = np.random.default_rng(3)
    chains = draw_classes(draws, 4000, 10, 5)
    words = draw_words(draws, chains, 500, 5)
    assert (words % 5 == chains).all()
    ranks = np.bincount(words.flatten() // 5)
    assert ranks[0] / ranks[3] == pytest.approx(4, rel=0.1)
    assert ranks[0] / ranks[9] == pytest.approx(10, rel=0.2)


def test_tiny_run_compares_all_variants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(words=300, pairs=600, json_file=tmp_path / "figures.json", **TINY)  # type: ignore[arg-type]
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert figures["setting"]["words"] == pytest.approx(304, abs=20)  # some are held out
    assert list(figures["figures"]) == ["full", "sampled", "bucketed", "sampled, lazy"]
    for variant in figures["figures"].values():
        assert 1 < variant["perplexity"] < 3000
        assert len(variant["times_first"]["rounds"]) == 2
    assert "sampled, lazy" in capsys.readouterr().out


def test_files_are_read_as_words(tmp_path: Path) -> None:
    files = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in files:
        lines = (f"line {number % 90} and {number % 91}\n" for number in range(600))
        path.write_text("".join(lines), "utf-8")
    main(data=files, words=40, json_file=tmp_path / "figures.json", **TINY)
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["setting"]["words"] == 43


def test_ratios_are_computed_within_each_round() -> None:
    speeds = {"full": [10.0, 20.0], "sampled": [30.0, 40.0]}
    rounds = {name: [Turn(speed, 1.0, 1.0) for speed in turns] for name, turns in speeds.items()}
    report = make_report(rounds, {"full": 50.0, "sampled": 51.0})
    assert report["sampled"]["times_first"]["rounds"] == [3.0, 2.0]
    facts = {"words": 9, "dim": 8, "layers": 1, "batch_tokens": 5, "cpu": "x", "cores": 1, "threads": 1, "torch": "2"}
    shown = render(facts | {"python": "3", "rounds": 2, "updates": 1, "warm_up": 1}, report)
    assert "51.0 (+2.0%)" in shown
    assert "2.50 (2.00 - 3.00)" in shown
