"""The benchmark of one process against two: parsing, report and a small run."""

import json
from pathlib import Path

import pytest
from benchmarks.rank_speed import LAYOUTS, Layout, Turn, figures, last_speed, render, take_turn

from system import toys


def test_speed_is_read_from_the_last_report(tmp_path: Path) -> None:
    records = [{"tokens_per_second": 1.0}, {"tokens_per_second": 2.0}, {"valid": {}}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    assert last_speed(tmp_path / "log.jsonl") == 2.0


def test_setups_are_compared_within_a_round() -> None:
    speeds = {LAYOUTS[0]: (100.0, 50.0), LAYOUTS[1]: (150.0, 100.0), LAYOUTS[2]: (120.0, 55.0)}
    found = figures({way: [Turn(speed, 0.5) for speed in both] for way, both in speeds.items()})
    assert found["2 ranks x 1 thread"]["times_first"]["rounds"] == [1.5, 2.0]
    row = "| 2 ranks x 1 thread | 125 (100 - 150) | 1.75 (1.50 - 2.00) | 0.50 (0.50 - 0.50) |"
    assert row in render(found)
    assert str(Layout(1, 2)) == "1 rank x 2 threads"


@pytest.mark.slow
@pytest.mark.parametrize("way", LAYOUTS, ids=str)
def test_every_setup_trains(way: Layout, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(toys.write_corpus(tmp_path)))
    turn = take_turn(way, recipe, [f"data.cache={tmp_path / 'cache'}"], 2)
    assert turn.tokens_per_second > 0
    assert turn.cpu_seconds > 0
