"""A run of so many minutes becomes a run of so many steps, which can be repeated without a clock."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from system import toys
from system.following import Quiet, go_on, interrupt_after, left_behind, train
from weft.config.yaml_files import read_yaml
from weft.training import trainer
from weft.training.time_budget import TimeSpent
from weft.training.train_step import train_step
from weft.training.training_run import start_training


def by_the_clock(corpus: Path, minutes: float) -> dict[str, Any]:
    node = toys.recipe(corpus)
    node["train"] |= {"steps": None, "minutes": minutes}
    node["train"]["schedule"] = {
        "type": "warmup-stable-decay",
        "learning_rate": 0.01,
        "warmup_steps": 5,
        "decay_ratio": 0.6,
    }
    return node


def without_clock(run: Path) -> dict[str, Any]:
    left = left_behind(run)
    del left["best/config.json"]  # which may have been kept while the number of steps was not known
    return left


def repeated(run: Path, again: Path) -> dict[str, Any]:
    """What a run leaves that is configured as the first one ended up."""
    assert train(read_yaml(run / "config.yaml"), again) == "done"
    return without_clock(again)


@pytest.fixture
def fixed_at_six(monkeypatch: pytest.MonkeyPatch) -> None:
    """After six updates it is found that twenty steps fit."""

    def is_time(minutes: float, open_share: float, spent: TimeSpent) -> bool:
        return len(spent.updates) >= 6

    monkeypatch.setattr(trainer, "can_fix_steps", is_time)
    monkeypatch.setattr(trainer, "steps_in_budget", lambda *situation: 20)


def test_a_run_by_the_clock_is_repeated_by_its_steps(corpus: Path, tmp_path: Path) -> None:
    assert train(by_the_clock(corpus, 0.03), tmp_path / "clock") == "done"
    settings: Any = read_yaml(tmp_path / "clock" / "config.yaml")["train"]
    assert settings["minutes"] is None
    assert settings["steps"] >= 1
    assert repeated(tmp_path / "clock", tmp_path / "steps") == without_clock(tmp_path / "clock")


@pytest.mark.usefixtures("fixed_at_six")
@pytest.mark.parametrize("stopped", [4, pytest.param(9, marks=pytest.mark.slow)])
def test_a_stop_before_or_after_the_length_is_fixed_changes_nothing(
    stopped: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, stopped)
    assert train(by_the_clock(corpus, 5), tmp_path / "run") == "interrupted"
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert f"resuming after step {stopped} of {'5 minutes' if stopped < 6 else 20}" in said
    assert repeated(tmp_path / "run", tmp_path / "again") == without_clock(tmp_path / "run")


@pytest.mark.usefixtures("fixed_at_six")
@pytest.mark.parametrize(("warmup", "told"), [(20, False), (21, True)])
def test_a_warm_up_that_turns_out_longer_than_the_run_is_told(
    warmup: int, told: bool, corpus: Path, tmp_path: Path
) -> None:
    display, node = Quiet(), by_the_clock(corpus, 5)
    node["train"]["schedule"]["warmup_steps"] = warmup
    start_training(node, tmp_path / "run", display)
    assert any("train.schedule.warmup_steps is 21, but the run has 20" in said for said in display.said) == told


@pytest.mark.usefixtures("fixed_at_six")
def test_the_length_stays_fixed_when_a_run_dies_before_its_next_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_after(monkeypatch, 8)
    with pytest.raises(RuntimeError, match="power cut"):
        train(by_the_clock(corpus, 5), tmp_path / "run")
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert "resuming after step 0 of 20" in said
    assert repeated(tmp_path / "run", tmp_path / "again") == without_clock(tmp_path / "run")


def dies_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    really: Callable[..., Any] = train_step
    left = iter(range(updates))

    def dying(*arguments: Any, **settings: Any) -> Any:
        if next(left, None) is None:
            monkeypatch.setattr(trainer, "train_step", really)
            raise RuntimeError("power cut")
        return really(*arguments, **settings)

    monkeypatch.setattr(trainer, "train_step", dying)
