"""The training status of the server: contents, limits, unreadable runs and caching."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from unit.run_folders import finding, report, validation, write_log, write_run
from weft.serve import training_status
from weft.serve.training_status import (
    CURVE_PARTS,
    MAX_CHARACTERS,
    MAX_DIAGNOSES,
    MAX_SAMPLE_OUTPUTS,
    MAX_SAMPLES,
    TrainingStatus,
)
from weft.visualize.run_monitor import monitor_runs


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_status, "CACHE_SECONDS", -1.0)


def status(training: TrainingStatus) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(asyncio.run(training.json()))
    return found


def test_status_contains_what_the_log_contains(tmp_path: Path) -> None:
    records = [report(1, 9.0), report(50, 5.0), validation(50, 12.0), finding(50)]
    folder = write_run(tmp_path / "run", records)
    training = TrainingStatus(monitor_runs([folder, tmp_path / "later"]))
    run, later = status(training)
    assert (run["name"], run["state"], run["step"], run["total_steps"], run["progress"]) == (
        "run",
        "training",
        50,
        100,
        0.5,
    )
    assert run["training"]["loss"] == {"steps": [1, 50], "values": [9.0, 5.0]}
    assert run["validation"]["bleu"] == {"steps": [50], "values": [12.0]}
    assert run["best"] == {"step": 50, "value": 12.0}
    output = {"step": 50, "text": "ein Mann"}
    assert run["samples"] == [{"source": "a man sleeps", "reference": "ein Mann schläft", "outputs": [output]}]
    assert run["diagnoses"] == [finding(50)]
    assert (later["state"], later["training"], later["samples"]) == ("waiting", {}, [])
    write_log(folder, [*records, report(100), validation(100)])
    assert status(training)[0]["state"] == "finished"


def test_status_of_a_long_run_is_bounded(tmp_path: Path) -> None:
    long = [{"source": f"{n} {'a' * 5000}", "target": "b" * 5000, "output": "c" * 5000} for n in range(30)]
    records = [report(step, float(step % 7)) for step in range(1, 9000)]
    records += [validation(step, examples=long) for step in range(100, 3000, 100)]
    records += [finding(step) for step in range(100)]
    (run,) = status(TrainingStatus(monitor_runs([write_run(tmp_path / "run", records, steps=10**6)])))
    assert 100 < len(run["training"]["loss"]["steps"]) <= 4 * CURVE_PARTS
    assert len(run["samples"]) == MAX_SAMPLES
    assert {len(sample["outputs"]) for sample in run["samples"]} == {MAX_SAMPLE_OUTPUTS}
    texts = [
        text
        for sample in run["samples"]
        for text in (sample["source"], sample["reference"], sample["outputs"][0]["text"])
    ]
    assert {len(text) for text in texts} == {MAX_CHARACTERS}
    assert len(run["diagnoses"]) == MAX_DIAGNOSES


def test_non_finite_values_are_omitted(tmp_path: Path) -> None:
    records = [report(1), report(2, float("nan")), report(3, float("inf")), report(4)]
    (run,) = status(TrainingStatus(monitor_runs([write_run(tmp_path / "run", records)])))
    assert run["training"]["loss"]["steps"] == [1, 4]


def test_unreadable_run_does_not_affect_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = [write_run(tmp_path / name, [report(1)]) for name in ("broken", "whole")]
    (tmp_path / "broken" / "config.yaml").write_text("train: [", "utf-8")
    broken, whole = status(TrainingStatus(monitor_runs(folders)))
    assert (broken["readable"], whole["readable"], whole["step"]) == (False, True, 1)
    assert str(tmp_path) not in json.dumps([broken, whole])  # paths appear only in the server's log
    assert str(tmp_path / "broken") in caplog.text


def test_files_are_read_only_when_the_cache_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_status, "CACHE_SECONDS", 1000.0)
    folder = write_run(tmp_path / "run", [report(1)])
    training = TrainingStatus(monitor_runs([folder]))
    before = status(training)
    write_log(folder, [report(1), report(2)])
    assert status(training) == before
