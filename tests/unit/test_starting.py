"""How the length of a run is settled, and what a person reads."""

import pytest

from weft.cli import for_a_person
from weft.training.start import length


@pytest.mark.parametrize(
    ("minutes", "settings", "first"),
    [
        (None, [], []),
        (None, ["train.seed=2"], []),
        (None, ["train.steps=20"], ["train.minutes=null"]),
        (None, ["train.minutes = 3"], ["train.steps=null"]),
        (None, ["train.minutes=null"], []),
        (None, ["train.steps=20", "train.minutes=null"], []),
        (None, ["train.steps=20", "train.minutes=3"], []),  # which is told as a mistake
        (5, ["train.seed=2"], ["train.steps=null", "train.minutes=5"]),
    ],
)
def test_steps_or_minutes_replace_each_other(minutes: float | None, settings: list[str], first: list[str]) -> None:
    assert length(minutes, settings) == first


def test_a_message_is_broken_between_words_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "weft: " + "word " * 9 + "\n  a-very-long-name-of-a-file/that/is-not/broken"
    assert for_a_person(message) == message
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    assert for_a_person(message).split("\n")[:2] == ["weft: word word word", "word word word word"]
    assert for_a_person(message).endswith("\na-very-long-name-of-a-file/that/is-not/broken")
