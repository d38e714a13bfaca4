"""Files that describe a decoding job and its result; used in every environment, so without dependencies."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

JOB, WEIGHTS, ANSWER = "job.json", "weights.npz", "answer.json"


@dataclass(frozen=True)
class Shape:
    """Transformer-Tiny (Wu et al. 2021), with `layers` per side.

    Embeddings and output layer are tied; the output layer has a bias. Sinusoidal positions with interleaved sine and
    cosine; ReLU.
    """

    layers: int = 4
    dim: int = 128
    hidden: int = 256
    heads: int = 4


@dataclass(frozen=True)
class Batching:
    """Batch size in sentences, or in tokens with EOS and padding."""

    size: int
    unit: Literal["sentences", "tokens"]

    @property
    def name(self) -> str:
        return f"{self.size:,}" if self.unit == "sentences" else f"{self.size:,} tokens"


@dataclass(frozen=True)
class Job:
    """Batches of ids to decode, longest first, without special tokens. Every output has exactly `tokens` tokens."""

    shape: Shape
    vocabulary: int  # including special tokens
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
    warm_up: int = 2  # batches decoded before timing

    @property
    def steps(self) -> int:
        """Decoder steps: one per token, and one for EOS."""
        return self.tokens + 1

    def write(self, folder: Path) -> None:
        (folder / JOB).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_job(folder: Path) -> Job:
    """Read the file of `Job.write`."""
    fields = json.loads((folder / JOB).read_text(encoding="utf-8"))
    return Job(**{**fields, "shape": Shape(**fields["shape"]), "batching": Batching(**fields["batching"])})


@dataclass(frozen=True)
class Answer:
    """Total seconds, and the best output of each sentence in order, as ids without special tokens."""

    seconds: float
    outputs: list[list[int]]

    def write(self, folder: Path) -> None:
        (folder / ANSWER).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_answer(folder: Path) -> Answer:
    """Read the file of `Answer.write`."""
    return Answer(**json.loads((folder / ANSWER).read_text(encoding="utf-8")))
