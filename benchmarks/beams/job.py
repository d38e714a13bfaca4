"""What an engine is given to do, and what it answers, as files; read in every environment, so it needs nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

JOB, WEIGHTS, ANSWER = "job.json", "weights.npz", "answer.json"


@dataclass(frozen=True)
class Shape:
    """Transformer-Tiny (Wu et al. 2021), with so many layers on each side.

    One weight is both embeddings and the output layer, which has a bias; positions are sinusoidal, sine and cosine in
    turn; the activation is ReLU.
    """

    layers: int = 4
    dim: int = 128
    hidden: int = 256
    heads: int = 4


@dataclass(frozen=True)
class Batching:
    """What goes together: so many sentences, or as many as have so many tokens with their end marks and padding."""

    size: int
    unit: Literal["sentences", "tokens"]

    @property
    def name(self) -> str:
        return f"{self.size:,}" if self.unit == "sentences" else f"{self.size:,} tokens"


@dataclass(frozen=True)
class Job:
    """Sentences to decode, in batches, longest first; ids without marks. Every output has just `tokens`, and ends."""

    shape: Shape
    vocabulary: int  # ids, marks included
    batching: Batching
    batches: list[list[list[int]]]
    beam: int
    tokens: int
    workers: int  # of `threads` each
    threads: int
    pad: int
    begin: int
    end: int
    unknown: int
    warm_up: int = 2  # batches that are decoded before the clock starts

    @property
    def steps(self) -> int:
        """Of the decoder: one for each token, and one for the end mark."""
        return self.tokens + 1

    def write(self, folder: Path) -> None:
        (folder / JOB).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_job(folder: Path) -> Job:
    """What `Job.write` wrote."""
    told = json.loads((folder / JOB).read_text(encoding="utf-8"))
    return Job(**{**told, "shape": Shape(**told["shape"]), "batching": Batching(**told["batching"])})


@dataclass(frozen=True)
class Answer:
    """How long all batches took, and the best output of each sentence, in their order; ids without marks."""

    seconds: float
    outputs: list[list[int]]

    def write(self, folder: Path) -> None:
        (folder / ANSWER).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_answer(folder: Path) -> Answer:
    """What `Answer.write` wrote."""
    return Answer(**json.loads((folder / ANSWER).read_text(encoding="utf-8")))
