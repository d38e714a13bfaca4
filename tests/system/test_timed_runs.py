"""A run with a time budget fixes its number of steps, and can then be repeated exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from system import toys
from system.training_runs import RecordingDisplay, interrupt_after, resume_run, run_contents, train
from weft.config.yaml_files import read_yaml
from weft.training import trainer
from weft.training.time_budget import TimeSpent
from weft.training.train_step import train_step
from weft.training.training_run import start_training


def timed_recipe(corpus: Path, minutes: float) -> dict[str, Any]:
    node = toys.recipe(corpus)
    node["train"] |= {"steps": None, "minutes": minutes}
    node["train"]["schedule"] = {
        "type": "warmup-stable-decay",
        "learning_rate": 0.01,
        "warmup_steps": 5,
        "decay_ratio": 0.6,
    }
    return node


def comparable_contents(run: Path) -> dict[str, Any]:
    contents = run_contents(run)
    del contents["best/config.json"]  # may have been saved before the number of steps was known
    return contents


def repeat_run(run: Path, copy: Path) -> dict[str, Any]:
    """Run the final configuration of a run again; return its contents."""
    assert train(read_yaml(run / "config.yaml"), copy) == "done"
    return comparable_contents(copy)


@pytest.fixture
def steps_fixed_after_six_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """After six updates the number of steps is fixed to 20."""

    def can_fix_steps(minutes: float, open_share: float, spent: TimeSpent) -> bool:
        return len(spent.updates) >= 6

    monkeypatch.setattr(trainer, "can_fix_steps", can_fix_steps)
    monkeypatch.setattr(trainer, "steps_in_budget", lambda *arguments: 20)


def test_timed_run_is_repeated_by_its_steps(corpus: Path, tmp_path: Path) -> None:
    assert train(timed_recipe(corpus, 0.03), tmp_path / "timed") == "done"
    settings: Any = read_yaml(tmp_path / "timed" / "config.yaml")["train"]
    assert settings["minutes"] is None
    assert settings["steps"] >= 1
    assert repeat_run(tmp_path / "timed", tmp_path / "steps") == comparable_contents(tmp_path / "timed")


@pytest.mark.usefixtures("steps_fixed_after_six_updates")
@pytest.mark.parametrize("interrupted_at", [4, pytest.param(9, marks=pytest.mark.slow)])
def test_interruption_before_or_after_fixing_the_steps_changes_nothing(
    interrupted_at: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, interrupted_at)
    assert train(timed_recipe(corpus, 5), tmp_path / "run") == "interrupted"
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    assert f"resuming after step {interrupted_at} of {'5 minutes' if interrupted_at < 6 else 20}" in messages
    assert repeat_run(tmp_path / "run", tmp_path / "copy") == comparable_contents(tmp_path / "run")


@pytest.mark.usefixtures("steps_fixed_after_six_updates")
@pytest.mark.parametrize(("warmup", "warns"), [(20, False), (21, True)])
def test_warmup_longer_than_the_run_is_reported(warmup: int, warns: bool, corpus: Path, tmp_path: Path) -> None:
    display, node = RecordingDisplay(), timed_recipe(corpus, 5)
    node["train"]["schedule"]["warmup_steps"] = warmup
    start_training(node, tmp_path / "run", display)
    assert (
        any("train.schedule.warmup_steps is 21, but the run has 20" in message for message in display.messages) == warns
    )


@pytest.mark.usefixtures("steps_fixed_after_six_updates")
def test_steps_stay_fixed_if_the_run_crashes_before_its_next_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_after(monkeypatch, 8)
    with pytest.raises(RuntimeError, match="power cut"):
        train(timed_recipe(corpus, 5), tmp_path / "run")
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    assert "resuming after step 0 of 20" in messages
    assert repeat_run(tmp_path / "run", tmp_path / "copy") == comparable_contents(tmp_path / "run")


def crash_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    original: Callable[..., Any] = train_step
    remaining = iter(range(updates))

    def crashing_step(*arguments: Any, **settings: Any) -> Any:
        if next(remaining, None) is None:
            monkeypatch.setattr(trainer, "train_step", original)
            raise RuntimeError("power cut")
        return original(*arguments, **settings)

    monkeypatch.setattr(trainer, "train_step", crashing_step)
