"""The terminal dashboard of training runs."""

import os
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from unit.run_folders import finding, report, validation, write_log, write_run
from weft.core.errors import UserError
from weft.visualize.run_monitor import RunMonitor, monitor_runs
from weft.visualize.terminal_curves import build_panels
from weft.visualize.terminal_dashboard import dashboard_lines, print_dashboard, run_dashboard

LEAVE_SCREEN = "\x1b[?1049l"  # leaves the alternate screen; later output remains visible
RUNNING = [report(1, 9.0), report(50, 5.0), validation(50, 12.0), report(60, 4.5)]


def monitored(*folders: Path) -> list[RunMonitor]:
    runs = monitor_runs(folders)
    for run in runs:
        run.update()
    return runs


def dashboard_text(*folders: Path, width: int = 80, height: int = 24) -> str:
    lines = dashboard_lines(monitored(*folders), width, height)
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain for line in lines)


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(
        file=StringIO(), force_terminal=True, width=width, height=height, highlight=False, legacy_windows=False
    )


def output(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def screens(console: Console) -> list[str]:
    """Return the screens drawn before the final output; each starts at the top left."""
    return [text for text in output(console).partition(LEAVE_SCREEN)[0].split("\x1b[H") if len(text) > 80]


@pytest.mark.parametrize(
    ("records", "patience", "state"),
    [
        ([], None, "waiting"),
        (RUNNING, None, "training"),
        ([*RUNNING, finding(60)], None, "training"),
        ([*RUNNING, report(100), validation(100)], None, "finished"),
        ([*RUNNING, report(100)], None, "training"),  # the last validation is still missing
        ([*RUNNING, validation(70, 11.0), validation(80, 12.0)], 2, "patience"),
        ([*RUNNING, validation(70, 11.0), validation(80, 12.1)], 2, "training"),
        ([*RUNNING, finding(61, "non-finite")], None, "broken"),
    ],
)
def test_run_state(records: list[dict[str, Any]], patience: int | None, state: str, tmp_path: Path) -> None:
    (run,) = monitored(write_run(tmp_path / "run", records, patience=patience))
    assert run.progress().state == state


def test_run_without_recent_log_entries_is_silent(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", RUNNING)  # reports at most 49 seconds apart
    (run,) = monitored(folder)
    assert run.progress().state == "training"
    assert run.progress().remaining_seconds == pytest.approx(60, abs=5)
    for ago, state in ((200, "training"), (300, "silent")):
        os.utime(folder / "log.jsonl", (time.time() - ago,) * 2)
        run.update()
        assert run.progress().state == state
    assert f"weft train --resume {folder}" in dashboard_text(folder, width=200)


def test_progress_follows_a_budget_of_minutes_or_steps(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [report(20, seconds_left=60.0)], steps=None)
    (run,) = monitored(folder)
    assert (run.progress().total_steps, run.progress().fraction) == (None, 0.25)
    write_run(folder, [report(20, seconds_left=60.0)], steps=200)
    os.utime(folder / "config.yaml", ns=(1, 1))
    assert run.update()
    assert (run.progress().total_steps, run.progress().fraction) == (200, 0.1)


def test_best_uses_the_best_metric(tmp_path: Path) -> None:
    (run,) = monitored(write_run(tmp_path / "run", [validation(1, 3.0), validation(2, 9.0), validation(3, 5.0)]))
    assert run.best() == ("bleu", 2, 9.0)


def test_dashboard_shows_all_parts_of_the_runs(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", [*RUNNING, finding(60)])
    second = write_run(tmp_path / "second", [report(1, 8.0), report(90, 2.0), validation(90, 20.0, "ein Mann schläft")])
    os.utime(first / "log.jsonl", (time.time() + 60,) * 2)  # the remaining minute has not started
    text = dashboard_text(first, second, width=120, height=40)
    for part in ("● first", "▲ second", "60 of 100", "90 of 100", "1:00 left", "best bleu 12.00", "best bleu 20.00"):
        assert part in text
    for title in ("loss  ● training  ○ validation", "bleu", "learning rate", "gradient norm", "tokens per second"):
        assert f" {title}" in text
    assert "accuracy" in text
    assert (
        " source    a man sleeps\n reference ein Mann schläft\n ○ 50      ein Mann\n △ 90      ein Mann schläft" in text
    )
    assert "● ! overfitting at step 60: the loss rose. Likely cause: too little data." in text
    assert "△" in text.split("source")[0]  # in the curves


def test_outputs_of_a_sentence_are_listed_by_step(tmp_path: Path) -> None:
    outputs = ["ein ein", "ein Mann", "Mann schläft", "ein Mann schläft"]
    records = [report(1), *(validation(10 * n, output=output) for n, output in enumerate(outputs, start=1))]
    text = dashboard_text(write_run(tmp_path / "run", records), height=40)
    assert [line.split(maxsplit=2)[2] for line in text.split("\n") if line.startswith(" ○ ")] == outputs
    small = dashboard_text(write_run(tmp_path / "run", records), height=20)
    assert [line.split()[1] for line in small.split("\n") if line.startswith(" ○ ")] == ["10", "30", "40"]


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \u202e 男は眠る" * 20
    records = [report(1), validation(1, output=evil, examples=[{"source": evil, "target": evil, "output": evil}])]
    records += [{**finding(1), "observation": evil}]
    folder = write_run(tmp_path / "run\x1b[2J", records)
    console = terminal()
    print_dashboard(monitored(folder), console)
    assert "\x1b[2J" not in output(console)
    assert "\x07" not in output(console)
    assert "\\x1b[2J" in output(console)


@settings(max_examples=25)
@given(width=st.integers(1, 200), height=st.integers(1, 60), count=st.integers(1, 4), reports=st.integers(0, 30))
def test_dashboard_fits_every_terminal_size(
    width: int, height: int, count: int, reports: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    records = [report(1 + 7 * n, 9.0 / (1 + n), norm=10.0 ** (n % 5 - 2)) for n in range(reports)]
    records += [validation(7 * n, 5.0 * n) for n in range(1, reports // 3)] + [finding(7)] * (reports % 3)
    dashboard_text(*(write_run(folder / f"run {n}", records) for n in range(count)), width=width, height=height)


def test_wide_characters_fit_the_width(tmp_path: Path) -> None:
    """Characters of two cells count twice."""
    records = [report(1), validation(1, output="男は緑の部屋で眠っている" * 9)]
    text = dashboard_text(write_run(tmp_path / "男は緑の部屋で眠っている男は緑の部屋で眠っている", records), width=60)
    assert max(map(cell_len, text.split("\n"))) <= 60
    assert "…" in text


def test_all_validation_metrics_are_drawn(tmp_path: Path) -> None:
    """The best metric comes first; a run without metrics has no metric panels."""
    records = [
        report(1),
        {"step": 1, "validation": {"loss": 2.0, "perplexity": 7.0, "wer": 30.0, "bleu": 2.0, "output_statistics": {}}},
    ]
    names = [panel.name for panel in build_panels(monitored(write_run(tmp_path / "run", records)))]
    assert names == ["loss", "bleu", "learning_rate", "gradient_norm", "tokens_per_second", "wer", "perplexity"]
    alone = write_run(tmp_path / "alone", [report(1), {"step": 1, "validation": {}}])
    assert [panel.name for panel in build_panels(monitored(alone))] == [
        "loss",
        "learning_rate",
        "gradient_norm",
        "tokens_per_second",
    ]


class TestRunDashboard:
    """Each refresh is followed by a scheduled event."""

    @pytest.fixture
    def schedule(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        def set_events(*events: Callable[[], object]) -> None:
            remaining = iter(events)
            monkeypatch.setattr("time.sleep", lambda _: next(remaining)())

        return set_events

    def test_run_is_followed_from_start_to_end(self, tmp_path: Path, schedule: Callable[..., None]) -> None:
        folder, console = tmp_path / "run", terminal()
        schedule(
            lambda: None,
            lambda: write_run(folder, []),
            lambda: write_log(folder, RUNNING),
            lambda: write_log(folder, RUNNING[:1]),  # truncated, as after resuming
            lambda: write_log(folder, [*RUNNING, report(100, 3.0), validation(100, 30.0)]),
        )
        run_dashboard(monitor_runs([folder]), console)
        shown = screens(console)
        for text, status in zip(shown, ["is in", "is in", "no step is logged", "60 of 100", "1 of 100"], strict=False):
            assert status in text
        last = output(console).rpartition(LEAVE_SCREEN)[2]
        assert "100 of 100" in last
        assert "finished" in last
        assert "best bleu 30.00" in last

    def test_finished_run_is_shown_immediately(self, tmp_path: Path, schedule: Callable[..., None]) -> None:
        schedule()
        console = terminal()
        run_dashboard(monitor_runs([write_run(tmp_path / "run", [report(100), validation(100)])]), console)
        assert "finished" in output(console)

    def test_last_screen_remains_after_interrupt(self, tmp_path: Path, schedule: Callable[..., None]) -> None:
        def leave() -> None:
            raise KeyboardInterrupt

        schedule(leave)
        console = terminal()
        with pytest.raises(KeyboardInterrupt):
            run_dashboard(monitor_runs([write_run(tmp_path / "run", RUNNING)]), console)
        assert "60 of 100" in output(console).rpartition(LEAVE_SCREEN)[2]

    def test_terminal_may_be_resized(self, tmp_path: Path, schedule: Callable[..., None]) -> None:
        console, folder = terminal(), write_run(tmp_path / "run", RUNNING)

        def narrow() -> None:
            console.width, console.height = 40, 12

        schedule(narrow, lambda: write_log(folder, [report(100), validation(100)]))
        run_dashboard(monitor_runs([folder]), console)
        heights = [text.count("\n") + 1 for text in screens(console)]
        assert heights[:2] == [24, 12]

    def test_run_folder_is_not_modified(self, tmp_path: Path, schedule: Callable[..., None]) -> None:
        folder = write_run(tmp_path / "run", [report(100), validation(100)])
        folder.chmod(0o555)
        before = {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
        schedule()
        run_dashboard(monitor_runs([folder]), terminal())
        assert {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]} == before


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        (["none"], "none: there is no such folder"),
        (["empty"], "empty is not a run folder: it has no config.yaml and no log.jsonl"),
        (["file"], "file: is a file"),
        (["run", "run"], "run is given twice"),
        (["wrong"], "wrong/config.yaml: is not the configuration of a run"),
    ],
)
def test_invalid_run_folders_are_reported(
    folders: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", RUNNING)
    write_run(tmp_path / "wrong", RUNNING)
    (tmp_path / "wrong" / "config.yaml").write_text("train: {steps: many}\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=message):
        print_dashboard(monitor_runs([Path(name) for name in folders]), terminal())


def test_runs_with_equal_names_are_named_by_path(tmp_path: Path) -> None:
    assert [run.name for run in monitor_runs([Path("a/run"), Path("b/run")])] == ["a/run", "b/run"]
    assert [run.name for run in monitor_runs([Path("a/run"), Path("b/other")])] == ["run", "other"]
