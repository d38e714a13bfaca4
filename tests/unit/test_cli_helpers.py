"""Helpers of the command line: length overrides of a run, and wrapping of messages."""

import pytest

from weft.cli.main import wrap_for_terminal
from weft.training.time_budget import length_overrides


@pytest.mark.parametrize(
    ("minutes", "settings", "overrides"),
    [
        (None, [], []),
        (None, ["train.seed=2"], []),
        (None, ["train.steps=20"], ["train.minutes=null"]),
        (None, ["train.minutes = 3"], ["train.steps=null"]),
        (None, ["train.minutes=null"], []),
        (None, ["train.steps=20", "train.minutes=null"], []),
        (None, ["train.steps=20", "train.minutes=3"], []),  # reported as an error elsewhere
        (5, ["train.seed=2"], ["train.steps=null", "train.minutes=5"]),
    ],
)
def test_steps_and_minutes_replace_each_other(minutes: float | None, settings: list[str], overrides: list[str]) -> None:
    assert length_overrides(minutes, settings) == overrides


def test_messages_are_wrapped_between_words_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "weft: " + "word " * 9 + "\n  a-very-long-name-of-a-file/that/is-not/broken"
    assert wrap_for_terminal(message) == message
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    assert wrap_for_terminal(message).split("\n")[:2] == ["weft: word word word", "word word word word"]
    assert wrap_for_terminal(message).endswith("\na-very-long-name-of-a-file/that/is-not/broken")
