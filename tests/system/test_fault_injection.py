"""Short runs of the fault injection commands in tests/faults: kills, damaged files, full disks."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from faults.damage import Damage, Trial, damages, outcome, table, trials
from faults.disk import FullDiskResult, can_mount, fill_disk, small_disk
from faults.kills import differences, killed_run, reference_run


@pytest.mark.slow
def test_killed_run_equals_undisturbed_run(corpus: Path, tmp_path: Path) -> None:
    reference = reference_run(tmp_path, corpus, "bahdanau", 1)
    (tmp_path / "killed").mkdir()
    run = killed_run(tmp_path / "killed", reference, "bahdanau", 1, 2, Random(2))
    assert (run.kills, run.problems) == (2, [])


def test_differences_are_named() -> None:
    assert differences({"a": b"1", "b": b"1"}, {"a": b"1", "b": b"2", "c": b"3"}) == ["b is another", "c is another"]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["transformer", "bahdanau"])
def test_two_killed_ranks_equal_undisturbed_ranks(family: str, corpus: Path, tmp_path: Path) -> None:
    reference = reference_run(tmp_path, corpus, family, 2)
    (tmp_path / "killed").mkdir()
    run = killed_run(tmp_path / "killed", reference, family, 2, 4, Random(1))
    assert (run.kills, run.problems) == (4, [])


@pytest.mark.parametrize("backend", ["torch", "ctranslate2"])
def test_damaged_files_are_reported_or_harmless(backend: Any, runs: dict[str, Path], tmp_path: Path) -> None:
    results = list(trials(runs["transformer"] / "best", tmp_path, 4, Random(1), backend))
    assert {trial.name for trial in results} >= {"weights.safetensors", "manifest.json", "config.json"}
    assert [trial for trial in results if trial.outcome not in ("error message", "same")] == []
    assert all(
        "\n" not in trial.message and trial.name in trial.message for trial in results if trial.name != "manifest.json"
    )


def test_silent_damage_is_detected(runs: dict[str, Path]) -> None:
    assert outcome(runs["transformer"], ["something else"], "torch")[0] == "other output"
    assert outcome(runs["transformer"] / "none", [], "torch")[0] == "error message"
    assert [damage.kind for damage in damages(9, 2, Random(1))] == ["flip", "flip", "cut", "cut"]
    assert Damage("flip", 1, 3).apply(b"abc") == b"aac"
    assert Damage("cut", 1).apply(b"abc") == b"a"
    lines = table([Trial("a", Damage("cut", 1), "error message", "x"), Trial("a", Damage("cut", 2), "crash", "x")])
    assert lines[1].split() == ["a", "1", "0", "0", "1"]


@pytest.mark.skipif(not can_mount(), reason="only root can mount a disk in memory")
@pytest.mark.parametrize("megabytes", [1, 30])
def test_full_disk_is_reported_and_loses_nothing(megabytes: int, corpus: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes * 2**20) as disk:
        result = fill_disk(disk, corpus, tmp_path)
    assert result.is_correct(), result
    assert "the disk is full" in result.stderr
    assert (result.step is not None) == (megabytes > 1)


def test_lost_run_is_detected() -> None:
    correct = FullDiskResult(2, "weft: the disk is full", 4, ["x"], 7)
    assert correct.is_correct()
    assert not correct._replace(resumed_to=None).is_correct()
    assert not correct._replace(stderr="Traceback\nweft: x").is_correct()
    assert not correct._replace(code=1).is_correct()
