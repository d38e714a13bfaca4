"""Small components of a training run: log, meter, durations and signals."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from system.training_runs import RecordingDisplay
from weft.config.recipe import Recipe
from weft.core.formatting import format_duration
from weft.metrics.corpus_metrics import is_better
from weft.training.distributed import CPU_RANK
from weft.training.log_writer import JSONLogWriter
from weft.training.run_folder import RunFolder
from weft.training.train_step import MeterState, TrainingMeter, UpdateStats
from weft.training.trainer import Trainer, handle_interrupts


def test_log_is_truncated_to_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps({"step": step}) for step in (10, 20, 30)]
    path.write_text("\n".join(lines) + '\n{"step": 35, "lo', "utf-8")
    log = JSONLogWriter(path, 20)
    log.write({"step": 21})
    assert [json.loads(line)["step"] for line in path.read_text("utf-8").split("\n")[:-1]] == [10, 20, 21]


@pytest.mark.parametrize("rank", [0, 1])
def test_log_is_read_only_by_rank_0(rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rank could read an incomplete log before rank 0 has truncated it."""
    ranks = replace(CPU_RANK, rank=rank, world_size=2)
    components: Any = SimpleNamespace(strategy=SimpleNamespace(ranks=ranks), diagnoses=())
    (tmp_path / "log.jsonl").write_text('{"step": 0}\n{"step": 1, "lo\n', "utf-8")
    monkeypatch.setattr(Trainer, "_run", lambda *_: "done")
    trainer = Trainer(RunFolder(tmp_path), Recipe(), components, RecordingDisplay())
    with handle_interrupts() as interrupt:
        assert trainer.run(interrupt) == "done"
    assert trainer.history.reports == ([] if rank else [{"step": 0}])


def test_meter_averages_over_tokens_and_resets(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    meter = TrainingMeter(MeterState(100.0))
    meter.add(UpdateStats(loss=30.0, count=10.0, gradient_norm=1.0, parts={"nll": 20.0, "accuracy": 500.0}))
    meter.add(UpdateStats(loss=10.0, count=30.0, gradient_norm=3.0, parts={"nll": 10.0, "accuracy": 1500.0}))
    now[0] = 4.0
    with meter.paused():
        now[0] = 14.0
    report = meter.report(0)
    assert report == {"loss": 1.0, "nll": 0.75, "accuracy": 50.0, "gradient_norm": 2.0, "tokens_per_second": 10.0}
    meter.add(UpdateStats(loss=1.0, count=1.0, gradient_norm=1.0, parts={}))
    now[0] = 16.0
    assert meter.report(0)["tokens_per_second"] == 0.5
    assert meter.seconds() == 116.0


def test_last_report_averages_as_many_updates_as_the_others() -> None:
    def update(loss: float) -> UpdateStats:
        return UpdateStats(loss=loss, count=1.0, gradient_norm=0.0, parts={})

    meter = TrainingMeter()
    for loss in (1.0, 2.0, 3.0, 4.0):
        meter.add(update(loss))
    meter.report(0)
    meter.add(update(8.0))
    resumed = TrainingMeter(meter.state())
    for one in (meter, resumed):
        assert one.report(3)["loss"] == (3.0 + 4.0 + 8.0) / 3


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61, "1:01"), (3600, "1:00:00"), (59.7, "1:00")])
def test_durations_are_formatted(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_better_depends_on_the_metric() -> None:
    assert is_better("bleu", 2.0, 1.0)
    assert not is_better("bleu", 1.0, 1.0)
    assert is_better("loss", 1.0, 2.0)
    assert is_better("wer", 50.0, None)


def test_first_signal_is_recorded_and_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with handle_interrupts() as interrupt:
        assert interrupt.signal is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.signal is signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handle_interrupts() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupt.signal is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_are_not_handled_in_other_threads() -> None:
    with ThreadPoolExecutor() as pool:
        assert pool.submit(lambda: handle_interrupts().__enter__().signal).result() is None
