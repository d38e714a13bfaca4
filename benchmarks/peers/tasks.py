"""What is measured, in words that every toolkit can be told in its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.peers.data import Pieces
from benchmarks.peers.environments import Pins

Cell = Literal["lstm", "gru"]
Score = Literal["general", "additive"]


@dataclass(frozen=True)
class Recurrent:
    """The encoder-decoder with attention that all toolkits here have (Luong et al. 2015, with input feeding):

    one layer both ways in the encoder, `hidden` numbers a direction; one layer of 2 `hidden` in the decoder, which
    starts from the encoder's last states; attention is asked after the cell, and h~ has 2 `hidden` numbers as well.
    Nothing is tied. What the toolkits call Bahdanau or MLP attention is this decoder with the additive score.
    """

    cell: Cell = "lstm"
    score: Score = "general"
    embedding: int = 256
    hidden: int = 256
    dropout: float = 0.2  # on both embeddings and h~, or what a toolkit has nearest to it

    @property
    def decoder(self) -> int:
        return 2 * self.hidden


@dataclass(frozen=True)
class Training:
    """Adam at one rate, float32, no smoothing, no validation; `updates` to warm up, and as many that are measured."""

    shape: Recurrent
    updates: int
    batch_tokens: int = 4096  # rows times the longest row of either side
    rate: float = 1e-3
    clip: float = 1.0  # largest norm of the gradient
    seed: int = 1

    @property
    def steps(self) -> int:
        return 2 * self.updates


class Job(NamedTuple):
    """One run of one toolkit: what, on what, and the empty folder for what it writes."""

    training: Training
    pieces: Pieces
    folder: Path


class Figures(NamedTuple):
    """What a toolkit tells of a run: its speed over the measured updates, in real target tokens, end marks included."""

    parameters: int
    tokens_per_second: float
    loss: float  # at the end, natural logarithm, a token


class Task(NamedTuple):
    """How a toolkit is told a job, and how its answer is read."""

    command: Callable[[Job], list[str]]  # writes what the toolkit wants to read; gives the arguments of its Python
    read: Callable[[Job, str], Figures]  # from the job's folder, and what was printed


class Toolkit(NamedTuple):
    """A toolkit: where it lives (None: in this environment), and what it can be measured at."""

    name: str
    pins: Pins | None
    training: Task
