"""Law 6 the hard way: a run that is killed again and again ends as one that was left alone."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest

from system import toys
from system.commands import NEVER, running, weft
from system.following import left_behind, train

STEPS = 12
WRITES = 80  # more than such a run has


@pytest.fixture(scope="module")
def recipe(corpus: Path) -> dict[str, Any]:
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 2}
    return node


@pytest.fixture(scope="module")
def undisturbed(recipe: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    train(recipe, run)
    return left_behind(run)


def command(folder: Path, recipe: dict[str, Any]) -> tuple[str | Path, ...]:
    """Go on if there is a run, else begin it: what a person would do who finds the machine rebooted."""
    if (folder / "run").exists():
        return "train", "--resume", folder / "run"
    return "train", toys.write_recipe(folder / "recipe.yaml", recipe), "--out", folder / "run"


def killed_at(folder: Path, recipe: dict[str, Any], writes: Iterator[int]) -> int:
    """Run until the end, killed at each of these writes (counted anew each time); how often that was."""
    kills = 0
    while (result := weft(*command(folder, recipe), dies_at=next(writes, NEVER))).code == -SIGKILL:
        kills += 1
    assert result.code == 0, result.err
    return kills


def test_killed_while_writing(recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    draws = Random(3)
    writes = (draws.randrange(1, 40) for _ in range(5))
    assert killed_at(tmp_path, recipe, writes) >= 3
    assert left_behind(tmp_path / "run") == undisturbed


def test_killed_at_any_time(recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    draws = Random(4)
    for reports in (1, 3, 5):
        with running(*command(tmp_path, recipe)) as training:
            training.wait_for(tmp_path / "run" / "log.jsonl", reports)
            time.sleep(0.1 * draws.random())
            training.process.kill()
            assert training.wait().code in (-SIGKILL, 0)
    assert weft(*command(tmp_path, recipe)).code == 0
    assert left_behind(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("write", range(1, WRITES))
def test_killed_at_every_write(write: int, recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    killed_at(tmp_path, recipe, iter([write]))
    assert left_behind(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_again_and_again(seed: int, recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    draws = Random(seed)
    killed_at(tmp_path, recipe, (draws.randrange(1, 60) for _ in range(20)))
    assert left_behind(tmp_path / "run") == undisturbed
