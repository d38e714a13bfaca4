"""The interface of a toolkit: the training job it runs, its command, and the figures read from its output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from benchmarks.peers.data import Pieces
from benchmarks.peers.environments import Pins

from weft.core.errors import UserError

Shape = TypeVar("Shape")  # of the model


@dataclass(frozen=True)
class Training(Generic[Shape]):
    """Adam with a constant learning rate and no validation; `updates` warm-up updates, then as many measured ones."""

    shape: Shape
    updates: int
    batch_tokens: int = 4096  # sentences times the longest sentence of either side
    smoothing: float = 0.0
    rate: float = 1e-3
    clip: float = 1.0  # largest norm of the gradient
    seed: int = 1

    @property
    def steps(self) -> int:
        return 2 * self.updates


class Job(NamedTuple, Generic[Shape]):
    """One run of one toolkit; `folder` is empty and receives everything that it writes."""

    training: Training[Shape]
    pieces: Pieces
    folder: Path


class Figures(NamedTuple):
    """Figures of a run; the speed counts target tokens of the measured updates, EOS included, without padding."""

    parameters: int
    tokens_per_second: float
    loss: float  # final loss per token, natural logarithm


class Toolkit(NamedTuple, Generic[Shape]):
    """A toolkit; `pins` is None for the current environment."""

    name: str
    pins: Pins | None
    command: Callable[[Job[Shape]], list[str]]  # writes the configuration, returns the arguments of Python
    read: Callable[[Job[Shape], str], Figures]  # from the job's folder and the printed output
    precision: str = "float32"


def write_settings(path: Path, settings: Mapping[str, Any]) -> str:
    """Write the settings as JSON, which is also YAML; return the path as an argument."""
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return str(path)


def last_match(pattern: str, output: str) -> tuple[str, ...]:
    """Return the groups of the last match."""
    matches = list(re.finditer(pattern, output))
    if not matches:
        raise UserError(f"nothing that was printed fits {pattern!r}: is this another version of the toolkit?")
    return matches[-1].groups()
