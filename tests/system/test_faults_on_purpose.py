"""The harness of faults, in small: kills, damaged files, full disks."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from faults.damage import Damage, Trial, damages, outcome, table, trials
from faults.disk import Filled, can_mount, filled, small_disk
from faults.kills import differences, killed, undisturbed


@pytest.mark.slow
def test_a_killed_run_ends_as_an_undisturbed_one(corpus: Path, tmp_path: Path) -> None:
    like = undisturbed(tmp_path, corpus, "bahdanau", 1)
    (tmp_path / "killed").mkdir()
    run = killed(tmp_path / "killed", like, "bahdanau", 1, 2, Random(2))
    assert (run.kills, run.wrong) == (2, [])


def test_what_differs_is_named() -> None:
    assert differences({"a": b"1", "b": b"1"}, {"a": b"1", "b": b"2", "c": b"3"}) == ["b is another", "c is another"]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["transformer", "bahdanau"])
def test_two_ranks_that_are_killed_end_as_undisturbed_ones(family: str, corpus: Path, tmp_path: Path) -> None:
    like = undisturbed(tmp_path, corpus, family, 2)
    (tmp_path / "killed").mkdir()
    run = killed(tmp_path / "killed", like, family, 2, 4, Random(1))
    assert (run.kills, run.wrong) == (4, [])


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_damaged_files_are_told_or_do_no_harm(engine: Any, runs: dict[str, Path], tmp_path: Path) -> None:
    done = list(trials(runs["transformer"] / "best", tmp_path, 4, Random(1), engine))
    assert {trial.name for trial in done} >= {"weights.safetensors", "manifest.json", "config.json"}
    assert [trial for trial in done if trial.ended not in ("told", "same")] == []
    assert all("\n" not in trial.told and trial.name in trial.told for trial in done if trial.name != "manifest.json")


def test_what_would_be_silent_is_seen(runs: dict[str, Path]) -> None:
    assert outcome(runs["transformer"], ["something else"], "torch")[0] == "other output"
    assert outcome(runs["transformer"] / "none", [], "torch")[0] == "told"
    assert [damage.kind for damage in damages(9, 2, Random(1))] == ["flip", "flip", "cut", "cut"]
    assert Damage("flip", 1, 3).done(b"abc") == b"aac"
    assert Damage("cut", 1).done(b"abc") == b"a"
    told = table([Trial("a", Damage("cut", 1), "told", "x"), Trial("a", Damage("cut", 2), "crash", "x")])
    assert told[1].split() == ["a", "1", "0", "0", "1"]


@pytest.mark.skipif(not can_mount(), reason="only root can make a disk in memory")
@pytest.mark.parametrize("megabytes", [1, 30])
def test_a_full_disk_is_told_and_loses_nothing(megabytes: int, corpus: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes * 2**20) as disk:
        result = filled(disk, corpus, tmp_path)
    assert result.well(), result
    assert "the disk is full" in result.said
    assert (result.step is not None) == (megabytes > 1)


def test_a_run_that_was_lost_is_seen() -> None:
    good = Filled(2, "weft: the disk is full", 4, ["x"], 7)
    assert good.well()
    assert not good._replace(went_on=None).well()
    assert not good._replace(said="Traceback\nweft: x").well()
    assert not good._replace(code=1).well()
