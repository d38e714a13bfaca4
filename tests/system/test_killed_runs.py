"""Law 6 under SIGKILL: a run that is killed repeatedly ends like an undisturbed run."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest

from system import toys
from system.commands import NEVER, running, weft
from system.training_runs import run_contents, train

STEPS = 12
WRITES = 80  # more than such a run makes


@pytest.fixture(scope="module")
def recipe(corpus: Path) -> dict[str, Any]:
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 2}
    return node


@pytest.fixture(scope="module")
def undisturbed(recipe: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    train(recipe, run)
    return run_contents(run)


def command(folder: Path, recipe: dict[str, Any]) -> tuple[str | Path, ...]:
    """Return the command that resumes the run, or starts it if there is none."""
    if (folder / "run").exists():
        return "train", "--resume", folder / "run"
    return "train", toys.write_recipe(folder / "recipe.yaml", recipe), "--out", folder / "run"


def run_with_kills(folder: Path, recipe: dict[str, Any], writes: Iterator[int]) -> int:
    """Run to the end, killed at these writes (counted from each start); return the number of kills."""
    kills = 0
    while (result := weft(*command(folder, recipe), kill_at_write=next(writes, NEVER))).code == -SIGKILL:
        kills += 1
    assert result.code == 0, result.err
    return kills


def test_run_killed_while_writing(recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    rng = Random(3)
    writes = (rng.randrange(1, 40) for _ in range(5))
    assert run_with_kills(tmp_path, recipe, writes) >= 3
    assert run_contents(tmp_path / "run") == undisturbed


def test_run_killed_at_random_times(recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    rng = Random(4)
    for reports in (1, 3, 5):
        with running(*command(tmp_path, recipe)) as training:
            training.wait_for(tmp_path / "run" / "log.jsonl", reports)
            time.sleep(0.1 * rng.random())
            training.process.kill()
            assert training.wait().code in (-SIGKILL, 0)
    assert weft(*command(tmp_path, recipe)).code == 0
    assert run_contents(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("write", range(1, WRITES))
def test_run_killed_at_every_write(
    write: int, recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    run_with_kills(tmp_path, recipe, iter([write]))
    assert run_contents(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_run_killed_repeatedly(seed: int, recipe: dict[str, Any], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    rng = Random(seed)
    run_with_kills(tmp_path, recipe, (rng.randrange(1, 60) for _ in range(20)))
    assert run_contents(tmp_path / "run") == undisturbed
