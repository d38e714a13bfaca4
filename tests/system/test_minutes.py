"""A run of so many minutes becomes a run of so many steps, which can be repeated without a clock."""

from pathlib import Path
from typing import Any

import pytest

from system import toys
from system.following import go_on, interrupt_after, left_behind, train
from weft.config.document import read_document


def by_the_clock(corpus: Path, minutes: float) -> dict[str, Any]:
    node = toys.recipe(corpus)
    node["train"] |= {"steps": None, "minutes": minutes}
    node["train"]["schedule"] = {"type": "warmup-stable-decay", "peak": 0.01, "warmup": 5, "decay": 0.6}
    return node


def without_clock(run: Path) -> dict[str, Any]:
    left = left_behind(run)
    del left["best/config.json"]  # which may have been kept while the number of steps was not known
    left["log.jsonl"] = [record for record in left["log.jsonl"] if "minutes" not in record]
    return left


def test_a_run_by_the_clock_is_repeated_by_its_steps(corpus: Path, tmp_path: Path) -> None:
    assert train(by_the_clock(corpus, 0.03), tmp_path / "clock") == "done"
    written = read_document(tmp_path / "clock" / "config.yaml")
    assert written["train"]["minutes"] is None  # type: ignore[index,call-overload]
    assert written["train"]["steps"] >= 1  # type: ignore[index,call-overload,operator]
    assert train(written, tmp_path / "steps") == "done"
    assert without_clock(tmp_path / "steps") == without_clock(tmp_path / "clock")


def test_a_run_by_the_clock_that_is_stopped_goes_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, 1)
    assert train(by_the_clock(corpus, 0.03), tmp_path / "run") == "interrupted"
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert "going on after step 1 of 0.03 minutes" in said
    written = read_document(tmp_path / "run" / "config.yaml")
    assert train(written, tmp_path / "steps") == "done"
    assert (
        without_clock(tmp_path / "steps")["last/weights.safetensors"]
        == (tmp_path / "run" / "last" / "weights.safetensors").read_bytes()
    )
