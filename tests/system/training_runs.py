"""Training runs in the test's own process: without output, interrupted at a step, compared bit by bit."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft.checkpoints.run_origin import ORIGIN_FILE
from weft.training import trainer
from weft.training.progress import ProgressDisplay
from weft.training.train_step import train_step
from weft.training.training_run import resume_training, start_training

TIMES = {"seconds", "time_spent", "busy_seconds", "seconds_left", "tokens_per_second"}


class RecordingDisplay(ProgressDisplay):
    """A display that records its messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def print(self, text: str) -> None:
        self.messages.append(text)


def train(node: dict[str, Any], out: Path) -> str:
    """Start a run; return how it ended."""
    return start_training(node, out, RecordingDisplay())


def resume_run(out: Path) -> tuple[str, list[str]]:
    """Resume a run; return how it ended, and its messages."""
    display = RecordingDisplay()
    return resume_training(out, display), display.messages


def interrupt_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    """Send SIGINT during the nth update from now."""
    original: Callable[..., Any] = train_step
    remaining = iter(range(updates - 1))

    def interrupted_step(*arguments: Any, **settings: Any) -> Any:
        if next(remaining, None) is None:
            signal.raise_signal(signal.SIGINT)
            monkeypatch.setattr(trainer, "train_step", original)
        return original(*arguments, **settings)

    monkeypatch.setattr(trainer, "train_step", interrupted_step)


def run_contents(run: Path) -> dict[str, Any]:
    """Return the contents of all files of a run folder, without times and absolute paths."""
    contents: dict[str, Any] = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file() and path.name != ORIGIN_FILE):
        name = path.relative_to(run).as_posix()
        match path.name:
            case "log.jsonl":
                contents[name] = [without_times(json.loads(line)) for line in path.read_text("utf-8").split("\n")[:-1]]
            case "state.json":
                contents[name] = without_times(json.loads(path.read_text("utf-8")))
            case "manifest.json":  # holds the hashes of the other files
                contents[name] = sorted(json.loads(path.read_text("utf-8"))["files"])
            case _:
                contents[name] = path.read_bytes()
    return contents


def run_contents_without_paths(run: Path) -> dict[str, Any]:
    """Return the contents of all files of a run folder, without times and without the folder's path."""
    return {
        name: value.replace(str(run).encode(), b"RUN")
        if isinstance(value, bytes)
        else json.loads(json.dumps(value).replace(str(run), "RUN"))
        for name, value in run_contents(run).items()
    }


def without_times(value: Any) -> Any:
    """Return JSON data without times, at any depth of nested objects."""
    if not isinstance(value, dict):
        return value
    return {name: without_times(inner) for name, inner in value.items() if name not in TIMES}
