"""Progress bars appear only in a terminal, only after a delay, and never on standard output."""

import sys
from collections.abc import Iterator
from io import StringIO
from threading import Event

import pytest

from weft.core import progress_bar
from weft.core.progress_bar import track_progress


class Terminal(StringIO):
    """A terminal that records what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "translating" in text:
            self.shown.set()
        return super().write(text)


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal. A fixture could not: pytest replaces the streams before each test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", StringIO())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return terminal


def wait_for_bar(terminal: Terminal) -> Iterator[int]:
    yield 1
    assert terminal.shown.wait(5)
    yield 2
    yield 3


def test_bar_is_shown_after_the_delay_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(progress_bar, "BAR_DELAY", 0.0)
    monkeypatch.setattr(progress_bar, "UPDATE_INTERVAL", 0.0)
    assert list(track_progress(wait_for_bar(terminal), "translating", 3)) == [1, 2, 3]
    assert "3/3" in terminal.getvalue()
    assert "/s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is cleared
    assert sys.stdout.getvalue() == ""  # type: ignore[union-attr]


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    assert list(track_progress(range(5), "translating", 5)) == [0, 1, 2, 3, 4]
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_it_would_disturb(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(progress_bar, "BAR_DELAY", 0.0)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert list(track_progress(range(5), "translating", prints_items=True)) == [0, 1, 2, 3, 4]
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", StringIO())
    assert list(track_progress(range(5), "translating")) == [0, 1, 2, 3, 4]
    assert sys.stderr.getvalue() == ""  # type: ignore[union-attr]


def test_bar_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)

    def fail() -> Iterator[int]:
        yield 1
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        list(track_progress(fail(), "translating"))
    assert terminal.getvalue() == ""
