"""The small parts of a run: its log, its meter, its clock and its signals."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from system.following import Quiet
from weft.config.recipe import Recipe
from weft.core.formatting import format_duration
from weft.metrics.corpus_metrics import is_better
from weft.training.distributed import CPU_RANK
from weft.training.log_writer import JSONLogWriter
from weft.training.run_folder import RunFolder
from weft.training.train_step import MeterState, TrainingMeter, UpdateStats
from weft.training.trainer import Trainer, handle_interrupts


def test_the_log_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps({"step": step}) for step in (10, 20, 30)]
    path.write_text("\n".join(lines) + '\n{"step": 35, "lo', "utf-8")
    log = JSONLogWriter(path, 20)
    log.write({"step": 21})
    assert [json.loads(line)["step"] for line in path.read_text("utf-8").split("\n")[:-1]] == [10, 20, 21]


@pytest.mark.parametrize("number", [0, 1])
def test_the_log_is_read_where_it_is_written(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rank could find it as a kill has left it, before the first has cut it back."""
    ranks = replace(CPU_RANK, rank=number, world_size=2)
    parts: Any = SimpleNamespace(strategy=SimpleNamespace(ranks=ranks), diagnoses=())
    (tmp_path / "log.jsonl").write_text('{"step": 0}\n{"step": 1, "lo\n', "utf-8")
    monkeypatch.setattr(Trainer, "_run", lambda *_: "done")
    loop = Trainer(RunFolder(tmp_path), Recipe(), parts, Quiet())
    with handle_interrupts() as interrupt:
        assert loop.run(interrupt) == "done"
    assert loop.history.reports == ([] if number else [{"step": 0}])


def test_the_meter_gives_means_over_tokens_and_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    meter = TrainingMeter(MeterState(100.0))
    meter.add(UpdateStats(loss=30.0, count=10.0, gradient_norm=1.0, parts={"nll": 20.0, "accuracy": 500.0}))
    meter.add(UpdateStats(loss=10.0, count=30.0, gradient_norm=3.0, parts={"nll": 10.0, "accuracy": 1500.0}))
    now[0] = 4.0
    with meter.paused():
        now[0] = 14.0
    report = meter.report()
    assert report == {"loss": 1.0, "nll": 0.75, "accuracy": 50.0, "gradient_norm": 2.0, "tokens_per_second": 10.0}
    meter.add(UpdateStats(loss=1.0, count=1.0, gradient_norm=1.0, parts={}))
    now[0] = 16.0
    assert meter.report()["tokens_per_second"] == 0.5
    assert meter.seconds() == 116.0


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61, "1:01"), (3600, "1:00:00"), (59.7, "1:00")])
def test_the_clock(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_better_depends_on_what_is_measured() -> None:
    assert is_better("bleu", 2.0, 1.0)
    assert not is_better("bleu", 1.0, 1.0)
    assert is_better("loss", 1.0, 2.0)
    assert is_better("wer", 50.0, None)


def test_the_first_signal_is_noted_and_the_second_stops() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with handle_interrupts() as interrupt:
        assert interrupt.signal is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.signal is signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handle_interrupts() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupt.signal is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_do_without_signals() -> None:
    with ThreadPoolExecutor() as pool:
        assert pool.submit(lambda: handle_interrupts().__enter__().signal).result() is None
