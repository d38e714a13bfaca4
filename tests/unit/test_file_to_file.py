"""The file-to-file benchmarks: order of the runs, compared figures and reports."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks import file_to_file, torch_file_to_file
from benchmarks.beam_search.engines import Search
from benchmarks.beam_search.job import Batching, Shape
from benchmarks.file_translation import ctranslate2_script
from benchmarks.file_translation.process_timing import (
    TimedProgram,
    Turn,
    fastest,
    first_lines,
    run_in_turns,
    summarize_turns,
    time_process,
)
from benchmarks.machine import machine
from benchmarks.speed_rows import ctranslate2_rows, torch_file_rows
from benchmarks.summary_statistics import summarize

from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import read_model_folder
from weft.core.errors import UserError

TEXT = "A man sleeps.\n\nTwo dogs run in the snow.\nA dog.\n"


def make_sides(calls: list[str], **seconds: float) -> dict[str, TimedProgram]:
    def side(name: str) -> TimedProgram:
        def turn() -> Turn:
            calls.append(name)
            return Turn(seconds[name], 2 * seconds[name], 10.0)

        return turn

    return {name: side(name) for name in seconds}


def test_every_second_round_runs_in_reverse_order() -> None:
    calls: list[str] = []
    turns = run_in_turns(make_sides(calls, one=2.0, other=4.0), 2)
    assert calls == ["one", "other", "other", "one"]
    figures = summarize_turns(turns["other"], 8, turns["one"])
    assert figures["ratio"]["rounds"] == [2.0, 2.0]
    assert figures["work_ratio"]["median"] == 2.0
    assert figures["lines_per_second"]["median"] == 2.0
    assert summarize_turns(turns["one"], 8, None)["ratio"] is None


def test_fastest_side_is_found_with_one_run_each() -> None:
    calls: list[str] = []
    assert fastest(make_sides(calls, slow=3.0, fast=1.0)) == "fast"
    assert calls == ["slow", "fast"]


def test_whole_process_is_timed() -> None:
    turn = time_process("nothing", [sys.executable, "-c", "sum(range(10**6))"], 1)
    assert (turn.seconds > 0, turn.cpu_seconds > 0) == (True, True)
    with pytest.raises(UserError, match="worse failed with code 3"):
        time_process("worse", [sys.executable, "-c", "raise SystemExit(3)"], 1)


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(TEXT)
    assert first_lines(tmp_path / "in", 3, tmp_path / "out") == ["A man sleeps.", "Two dogs run in the snow."]
    assert (tmp_path / "out").read_text() == "A man sleeps.\nTwo dogs run in the snow.\n"
    (tmp_path / "in").write_text("\n")
    with pytest.raises(UserError, match="no line to translate"):
        first_lines(tmp_path / "in", 3, tmp_path / "out")


def test_script_receives_all_tokens(tmp_path: Path) -> None:
    model = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER))
    work = file_to_file.Work(model, read_model_folder(model), tmp_path, Path(sys.executable), 1)
    tokens = work.tokens(["abc", "e"], "tokens")
    assert [line.split(ctranslate2_script.SEPARATOR) for line in tokens.read_text().split("\n")] == [
        ["a", "b", "c"],
        ["e"],
        [""],
    ]
    precision = file_to_file.precisions()[-1]
    assert work.hand(work.converted(precision), tokens, precision, (2, "examples")).seconds > 0
    assert len((tmp_path / "by-hand.txt").read_text().split("\n")) == 3


FIGURES: dict[str, Any] = {
    "speed": {
        "int8": {
            "weft": {"lines_per_second": summarize([300.0]), "peak_memory_mib": None},
            "by hand": {
                "lines_per_second": summarize([200.0]),
                "peak_memory_mib": None,
                "ratio": summarize([1.5]),
                "work_ratio": summarize([1.25]),
                "batches": "32 examples",
            },
        }
    },
    "start-up": {"weft translate": summarize([0.5]), "import torch": summarize([2.0])},
    "agreement": [{"beam": 5, "engine": "int8", "same": 0.995, "bleu": 38.0}],
}


def test_report_has_speed_startup_and_agreement() -> None:
    facts = machine() | {"threads": 2, "lines": 20, "source": "train.en", "beam": 5, "rounds": 1}
    report = file_to_file.render(facts, FIGURES)
    assert "| int8 | 300 | 200 | 32 examples | 1.500 | 1.250 |" in report
    assert "| weft translate | 0.50 |" in report
    assert "| 5 | int8 | 99.50% | 38.00 |" in report
    (row,) = ctranslate2_rows("files", FIGURES)
    assert row.cells()[:4] == ["files, int8", "a script by hand", "300 lines/s", "200"]


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"train\.en: there is no such file"):
        file_to_file.main(tmp_path, tmp_path)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> torch_file_to_file.Work:
    monkeypatch.setattr(torch_file_to_file, "SHAPE", Shape(layers=1, dim=8, hidden=12, heads=2))
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_text(TEXT)
    return torch_file_to_file.prepare(tmp_path, 10, 300, tmp_path, 1)


def test_peers_receive_the_same_lines_sorted_by_length(work: torch_file_to_file.Work) -> None:
    lengths = [len(row) for row in work.rows]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(work.tokenizer.decode(work.rows)) == sorted(line for line in TEXT.split("\n") if line)
    job = work.job(work.rows, Batching(2, "sentences"))
    assert [len(batch) for batch in job.batches] == [2, 1]
    assert (job.tokens, job.warm_up) == (20, 0)


def test_each_peer_uses_its_fastest_batching(work: torch_file_to_file.Work, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = SimpleNamespace(label="peer", search=Search())
    runs: list[tuple[int, str]] = []

    def turn(self: object, engine: object, python: object, rows: list[list[int]], batching: Batching) -> Turn:
        runs.append((len(rows), batching.name))
        return Turn(2.0 if batching.name == "128" else 4.0, 3.0, None)

    monkeypatch.setattr(torch_file_to_file.Work, "peer", turn)
    monkeypatch.setattr(torch_file_to_file.Work, "weft", lambda self: Turn(1.0, 2.0, None))

    class HashablePeer(SimpleNamespace):
        __hash__ = object.__hash__  # type: ignore[assignment]

    figures = torch_file_to_file.measure(work, {HashablePeer(**vars(peer)): Path("python")}, 1)  # type: ignore[dict-item]
    assert runs == [(1, "32"), (1, "128"), (1, "4,096 tokens"), (3, "128")]
    assert figures["peer"]["ratio"]["median"] == 2.0
    facts = machine() | {"lines": 3, "source": "train.en", "rounds": 1, "beam": 5, "tokens": 20}
    assert "| peer | 128 | 1.5 | 2.00 | 1.50 |" in torch_file_to_file.render(facts, figures)
    assert [row.peer for row in torch_file_rows("files", figures)] == ["peer"]
