"""What is measured, in words that every toolkit can be told in its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from benchmarks.peers.data import Pieces
from benchmarks.peers.environments import Pins

Shape = TypeVar("Shape")  # of the model


@dataclass(frozen=True)
class Training(Generic[Shape]):
    """Adam at one rate, no validation; `updates` to warm up, and as many that are measured."""

    shape: Shape
    updates: int
    batch_tokens: int = 4096  # rows times the longest row of either side
    smoothing: float = 0.0
    rate: float = 1e-3
    clip: float = 1.0  # largest norm of the gradient
    seed: int = 1

    @property
    def steps(self) -> int:
        return 2 * self.updates


class Job(NamedTuple, Generic[Shape]):
    """One run of one toolkit: what, on what, and the empty folder for what it writes."""

    training: Training[Shape]
    pieces: Pieces
    folder: Path


class Figures(NamedTuple):
    """What a toolkit tells of a run: its speed over the measured updates, in real target tokens, end marks included."""

    parameters: int
    tokens_per_second: float
    loss: float  # at the end, natural logarithm, a token


class Toolkit(NamedTuple, Generic[Shape]):
    """A toolkit: its name, where it lives (None: in this environment), how it is told a job, how its answer is read."""

    name: str
    pins: Pins | None
    command: Callable[
        [Job[Shape]], list[str]
    ]  # writes what the toolkit wants to read; gives the arguments of its Python
    read: Callable[[Job[Shape], str], Figures]  # from the job's folder, and what was printed
    precision: str = "float32"
