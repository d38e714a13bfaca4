"""Runs inside the test's own process: silent, stopped at a given step, and compared to the bit."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft.training import trainer
from weft.training.progress import ProgressDisplay
from weft.training.train_step import train_step
from weft.training.training_run import resume_training, start_training

TIMES = {"seconds", "time_spent", "busy_seconds", "seconds_left", "tokens_per_second"}


class Quiet(ProgressDisplay):
    """A display that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def print(self, text: str) -> None:
        self.said.append(text)


def train(node: dict[str, Any], out: Path) -> str:
    """A run from its beginning; how it ended."""
    return start_training(node, out, Quiet())


def go_on(out: Path) -> tuple[str, list[str]]:
    """How the run ended, and what was said."""
    display = Quiet()
    return resume_training(out, display), display.said


def interrupt_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    """Ctrl-C in the middle of the nth update from here."""
    really: Callable[..., Any] = train_step
    left = iter(range(updates - 1))

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        if next(left, None) is None:
            signal.raise_signal(signal.SIGINT)
            monkeypatch.setattr(trainer, "train_step", really)
        return really(*arguments, **settings)

    monkeypatch.setattr(trainer, "train_step", interrupted)


def left_behind(run: Path) -> dict[str, Any]:
    """All that a run leaves, without the times in it."""
    left: dict[str, Any] = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        name = path.relative_to(run).as_posix()
        match path.name:
            case "log.jsonl":
                left[name] = [timeless(json.loads(line)) for line in path.read_text("utf-8").split("\n")[:-1]]
            case "state.json":
                left[name] = timeless(json.loads(path.read_text("utf-8")))
            case "manifest.json":  # has the hashes of the others
                left[name] = sorted(json.loads(path.read_text("utf-8"))["files"])
            case _:
                left[name] = path.read_bytes()
    return left


def placeless(run: Path) -> dict[str, Any]:
    """All that a run leaves, without times and without the name of its folder."""
    return {
        name: value.replace(str(run).encode(), b"RUN")
        if isinstance(value, bytes)
        else json.loads(json.dumps(value).replace(str(run), "RUN"))
        for name, value in left_behind(run).items()
    }


def timeless(value: Any) -> Any:
    """The plain data without times, however deep they stand."""
    if not isinstance(value, dict):
        return value
    return {name: timeless(inner) for name, inner in value.items() if name not in TIMES}
