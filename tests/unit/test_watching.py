"""Runs that are watched: where they are, and the picture of them, in terminals of every size."""

import os
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from rich.cells import cell_len
from rich.console import Console

from unit.watched import finding, report, validation, write_log, write_run
from weft.core.errors import UserError
from weft.visualize.run_monitor import RunMonitor, monitor_runs
from weft.visualize.terminal_curves import build_panels
from weft.visualize.terminal_dashboard import Dashboard, print_dashboard, run_dashboard

LEFT = "\x1b[?1049l"  # the screen is left; what comes after it stays
GOING_ON = [report(1, 9.0), report(50, 5.0), validation(50, 12.0), report(60, 4.5)]


def watched(*folders: Path) -> list[RunMonitor]:
    runs = monitor_runs(folders)
    for run in runs:
        run.update()
    return runs


def picture(*folders: Path, width: int = 80, height: int = 24) -> str:
    lines = Dashboard(watched(*folders)).lines(width, height)
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain for line in lines)


def terminal_of(width: int = 80, height: int = 24) -> Console:
    return Console(
        file=StringIO(), force_terminal=True, width=width, height=height, highlight=False, legacy_windows=False
    )


def written(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def pictures(console: Console) -> list[str]:
    """All but the one that stays; each begins at the top of the screen."""
    return [text for text in written(console).partition(LEFT)[0].split("\x1b[H") if len(text) > 80]


@pytest.mark.parametrize(
    ("records", "patience", "state"),
    [
        ([], None, "waiting"),
        (GOING_ON, None, "training"),
        ([*GOING_ON, finding(60)], None, "training"),
        ([*GOING_ON, report(100), validation(100)], None, "finished"),
        ([*GOING_ON, report(100)], None, "training"),  # its last validation is yet to come
        ([*GOING_ON, validation(70, 11.0), validation(80, 12.0)], 2, "patience"),
        ([*GOING_ON, validation(70, 11.0), validation(80, 12.1)], 2, "training"),
        ([*GOING_ON, finding(61, "non-finite")], None, "broken"),
    ],
)
def test_the_state_of_a_run(records: list[dict[str, Any]], patience: int | None, state: str, tmp_path: Path) -> None:
    (run,) = watched(write_run(tmp_path / "run", records, patience=patience))
    assert run.progress().state == state


def test_a_run_that_tells_nothing_for_long_is_silent(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", GOING_ON)  # between whose reports were 49 seconds at most
    (run,) = watched(folder)
    assert run.progress().state == "training"
    assert run.progress().remaining_seconds == pytest.approx(60, abs=5)
    for ago, state in ((200, "training"), (300, "silent")):
        os.utime(folder / "log.jsonl", (time.time() - ago,) * 2)
        run.update()
        assert run.progress().state == state
    assert f"weft train --resume {folder}" in picture(folder, width=200)


def test_a_budget_of_minutes_becomes_one_of_steps(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [report(20, seconds_left=60.0)], steps=None)
    (run,) = watched(folder)
    assert (run.progress().total_steps, run.progress().fraction) == (None, 0.25)
    write_run(folder, [report(20, seconds_left=60.0)], steps=200)
    os.utime(folder / "config.yaml", ns=(1, 1))
    assert run.update()
    assert (run.progress().total_steps, run.progress().fraction) == (200, 0.1)


def test_the_best_is_that_of_what_decides(tmp_path: Path) -> None:
    (run,) = watched(write_run(tmp_path / "run", [validation(1, 3.0), validation(2, 9.0), validation(3, 5.0)]))
    assert run.best() == ("bleu", 2, 9.0)


def test_a_picture_tells_what_there_is(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", [*GOING_ON, finding(60)])
    second = write_run(tmp_path / "second", [report(1, 8.0), report(90, 2.0), validation(90, 20.0, "ein Mann schläft")])
    os.utime(first / "log.jsonl", (time.time() + 60,) * 2)  # of the minute that is left, no second has passed
    text = picture(first, second, width=120, height=40)
    for told in ("● first", "▲ second", "60 of 100", "90 of 100", "1:00 left", "best bleu 12.00", "best bleu 20.00"):
        assert told in text
    for title in ("loss  ● training  ○ validation", "bleu", "learning rate", "gradient norm", "tokens per second"):
        assert f" {title}" in text
    assert "accuracy" in text
    assert (
        " source    a man sleeps\n reference ein Mann schläft\n ○ 50      ein Mann\n △ 90      ein Mann schläft" in text
    )
    assert "● ! overfitting at step 60: the loss rose. Likely cause: too little data." in text
    assert "△" in text.split("source")[0]  # among the curves


def test_one_run_shows_how_a_sentence_changes(tmp_path: Path) -> None:
    outputs = ["ein ein", "ein Mann", "Mann schläft", "ein Mann schläft"]
    records = [report(1), *(validation(10 * n, output=output) for n, output in enumerate(outputs, start=1))]
    text = picture(write_run(tmp_path / "run", records), height=40)
    assert [line.split(maxsplit=2)[2] for line in text.split("\n") if line.startswith(" ○ ")] == outputs
    small = picture(write_run(tmp_path / "run", records), height=20)
    assert [line.split()[1] for line in small.split("\n") if line.startswith(" ○ ")] == ["10", "30", "40"]


def test_nothing_that_a_text_holds_reaches_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \u202e 男は眠る" * 20
    records = [report(1), validation(1, output=evil, examples=[{"source": evil, "target": evil, "output": evil}])]
    records += [{**finding(1), "observation": evil}]
    folder = write_run(tmp_path / "run\x1b[2J", records)
    console = terminal_of()
    print_dashboard(watched(folder), console)
    assert "\x1b[2J" not in written(console)
    assert "\x07" not in written(console)
    assert "\\x1b[2J" in written(console)


@settings(max_examples=25)
@given(
    width=some.integers(1, 200), height=some.integers(1, 60), count=some.integers(1, 4), reports=some.integers(0, 30)
)
def test_every_terminal_is_large_enough(
    width: int, height: int, count: int, reports: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    records = [report(1 + 7 * n, 9.0 / (1 + n), norm=10.0 ** (n % 5 - 2)) for n in range(reports)]
    records += [validation(7 * n, 5.0 * n) for n in range(1, reports // 3)] + [finding(7)] * (reports % 3)
    picture(*(write_run(folder / f"run {n}", records) for n in range(count)), width=width, height=height)


def test_what_is_in_a_picture_fits_its_cells(tmp_path: Path) -> None:
    """Letters of two cells count twice."""
    records = [report(1), validation(1, output="男は緑の部屋で眠っている" * 9)]
    text = picture(write_run(tmp_path / "男は緑の部屋で眠っている男は緑の部屋で眠っている", records), width=60)
    assert max(map(cell_len, text.split("\n"))) <= 60
    assert "…" in text


def test_what_validation_measures_is_drawn_whatever_it_is(tmp_path: Path) -> None:
    """What decides first; and a run that measures nothing but its loss has no other."""
    records = [
        report(1),
        {"step": 1, "validation": {"loss": 2.0, "perplexity": 7.0, "wer": 30.0, "bleu": 2.0, "output_statistics": {}}},
    ]
    names = [panel.name for panel in build_panels(watched(write_run(tmp_path / "run", records)))]
    assert names == ["loss", "bleu", "learning_rate", "gradient_norm", "tokens_per_second", "wer", "perplexity"]
    alone = write_run(tmp_path / "alone", [report(1), {"step": 1, "validation": {}}])
    assert [panel.name for panel in build_panels(watched(alone))] == [
        "loss",
        "learning_rate",
        "gradient_norm",
        "tokens_per_second",
    ]


class TestFollowing:
    """Each look is followed by something that happens."""

    @pytest.fixture
    def happening(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        def happen(*events: Callable[[], object]) -> None:
            left = iter(events)
            monkeypatch.setattr("time.sleep", lambda _: next(left)())

        return happen

    def test_a_run_is_followed_from_before_it_begins_to_its_end(
        self, tmp_path: Path, happening: Callable[..., None]
    ) -> None:
        folder, console = tmp_path / "run", terminal_of()
        happening(
            lambda: None,
            lambda: write_run(folder, []),
            lambda: write_log(folder, GOING_ON),
            lambda: write_log(folder, GOING_ON[:1]),  # cut back, as it goes on
            lambda: write_log(folder, [*GOING_ON, report(100, 3.0), validation(100, 30.0)]),
        )
        run_dashboard(monitor_runs([folder]), console)
        shown = pictures(console)
        for text, told in zip(shown, ["is in", "is in", "no step is logged", "60 of 100", "1 of 100"], strict=False):
            assert told in text
        last = written(console).rpartition(LEFT)[2]
        assert "100 of 100" in last
        assert "finished" in last
        assert "best bleu 30.00" in last

    def test_what_has_ended_is_shown_at_once(self, tmp_path: Path, happening: Callable[..., None]) -> None:
        happening()
        console = terminal_of()
        run_dashboard(monitor_runs([write_run(tmp_path / "run", [report(100), validation(100)])]), console)
        assert "finished" in written(console)

    def test_the_picture_stays_after_a_person_leaves(self, tmp_path: Path, happening: Callable[..., None]) -> None:
        def leave() -> None:
            raise KeyboardInterrupt

        happening(leave)
        console = terminal_of()
        with pytest.raises(KeyboardInterrupt):
            run_dashboard(monitor_runs([write_run(tmp_path / "run", GOING_ON)]), console)
        assert "60 of 100" in written(console).rpartition(LEFT)[2]

    def test_a_terminal_may_change_its_size(self, tmp_path: Path, happening: Callable[..., None]) -> None:
        console, folder = terminal_of(), write_run(tmp_path / "run", GOING_ON)

        def narrow() -> None:
            console.width, console.height = 40, 12

        happening(narrow, lambda: write_log(folder, [report(100), validation(100)]))
        run_dashboard(monitor_runs([folder]), console)
        heights = [text.count("\n") + 1 for text in pictures(console)]
        assert heights[:2] == [24, 12]

    def test_nothing_is_written_into_the_run(self, tmp_path: Path, happening: Callable[..., None]) -> None:
        folder = write_run(tmp_path / "run", [report(100), validation(100)])
        folder.chmod(0o555)
        before = {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
        happening()
        run_dashboard(monitor_runs([folder]), terminal_of())
        assert {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]} == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["none"], "none: there is no such folder"),
        (["empty"], "empty is not a run folder: it has no config.yaml and no log.jsonl"),
        (["file"], "file: is a file"),
        (["run", "run"], "run is given twice"),
        (["wrong"], "wrong/config.yaml: is not the configuration of a run"),
    ],
)
def test_what_cannot_be_watched_is_told(
    given: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", GOING_ON)
    write_run(tmp_path / "wrong", GOING_ON)
    (tmp_path / "wrong" / "config.yaml").write_text("train: {steps: many}\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=told):
        print_dashboard(monitor_runs([Path(name) for name in given]), terminal_of())


def test_runs_of_one_name_are_called_by_their_paths(tmp_path: Path) -> None:
    assert [run.name for run in monitor_runs([Path("a/run"), Path("b/run")])] == ["a/run", "b/run"]
    assert [run.name for run in monitor_runs([Path("a/run"), Path("b/other")])] == ["run", "other"]
