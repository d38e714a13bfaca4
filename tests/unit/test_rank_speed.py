"""The benchmark of one process beside two: which report counts, what is told, and that it runs."""

import json
from pathlib import Path

import pytest
from benchmarks.rank_speed import WAYS, Turn, Way, figures, last_speed, render, take_turn

from system import toys


def test_the_last_report_of_updates_counts(tmp_path: Path) -> None:
    records = [{"tokens_per_second": 1.0}, {"tokens_per_second": 2.0}, {"valid": {}}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    assert last_speed(tmp_path / "log.jsonl") == 2.0


def test_ways_are_compared_within_a_round() -> None:
    speeds = {WAYS[0]: (100.0, 50.0), WAYS[1]: (150.0, 100.0), WAYS[2]: (120.0, 55.0)}
    found = figures({way: [Turn(speed, 0.5) for speed in both] for way, both in speeds.items()})
    assert found["2 ranks x 1 thread"]["times_first"]["rounds"] == [1.5, 2.0]
    row = "| 2 ranks x 1 thread | 125 (100 - 150) | 1.75 (1.50 - 2.00) | 0.50 (0.50 - 0.50) |"
    assert row in render(found)
    assert str(Way(1, 2)) == "1 rank x 2 threads"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_trains(way: Way, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(toys.write_corpus(tmp_path)))
    turn = take_turn(way, recipe, [f"data.cache={tmp_path / 'cache'}"], 2)
    assert turn.tokens_per_second > 0
    assert turn.worked > 0
