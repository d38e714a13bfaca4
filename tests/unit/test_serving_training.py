"""What a server tells of the training of runs: what their logs tell, within limits, and of no other runs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from unit.watched import finding, report, validation, write_log, write_run
from weft.serve import training_status as serving
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
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "CACHE_SECONDS", -1.0)


def asked(training: TrainingStatus) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(asyncio.run(training.json()))
    return found


def test_what_the_log_tells_is_told(tmp_path: Path) -> None:
    records = [report(1, 9.0), report(50, 5.0), validation(50, 12.0), finding(50)]
    folder = write_run(tmp_path / "run", records)
    training = TrainingStatus(monitor_runs([folder, tmp_path / "later"]))
    run, later = asked(training)
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
    assert asked(training)[0]["state"] == "finished"


def test_however_long_a_run_is_what_is_told_of_it_is_short(tmp_path: Path) -> None:
    long = [{"source": f"{n} {'a' * 5000}", "target": "b" * 5000, "output": "c" * 5000} for n in range(30)]
    records = [report(step, float(step % 7)) for step in range(1, 9000)]
    records += [validation(step, examples=long) for step in range(100, 3000, 100)]
    records += [finding(step) for step in range(100)]
    (run,) = asked(TrainingStatus(monitor_runs([write_run(tmp_path / "run", records, steps=10**6)])))
    assert 100 < len(run["training"]["loss"]["steps"]) <= 4 * CURVE_PARTS
    assert len(run["samples"]) == MAX_SAMPLES
    assert {len(sample["outputs"]) for sample in run["samples"]} == {MAX_SAMPLE_OUTPUTS}
    texts = [text for one in run["samples"] for text in (one["source"], one["reference"], one["outputs"][0]["text"])]
    assert {len(text) for text in texts} == {MAX_CHARACTERS}
    assert len(run["diagnoses"]) == MAX_DIAGNOSES


def test_what_is_no_number_for_others_is_not_told(tmp_path: Path) -> None:
    records = [report(1), report(2, float("nan")), report(3, float("inf")), report(4)]
    (run,) = asked(TrainingStatus(monitor_runs([write_run(tmp_path / "run", records)])))
    assert run["training"]["loss"]["steps"] == [1, 4]


def test_files_that_cannot_be_read_spoil_no_other_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = [write_run(tmp_path / name, [report(1)]) for name in ("broken", "whole")]
    (tmp_path / "broken" / "config.yaml").write_text("train: [", "utf-8")
    broken, whole = asked(TrainingStatus(monitor_runs(folders)))
    assert (broken["readable"], whole["readable"], whole["step"]) == (False, True, 1)
    assert str(tmp_path) not in json.dumps([broken, whole])  # that is for the server's log alone
    assert str(tmp_path / "broken") in caplog.text


def test_files_are_looked_at_once_in_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "CACHE_SECONDS", 1000.0)
    folder = write_run(tmp_path / "run", [report(1)])
    training = TrainingStatus(monitor_runs([folder]))
    before = asked(training)
    write_log(folder, [report(1), report(2)])
    assert asked(training) == before
