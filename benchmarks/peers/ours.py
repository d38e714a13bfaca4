"""Weft, used as the peers are: by its command, on the same files, with figures read from its log."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.reading import last
from benchmarks.peers.tasks import Figures, Job, Recurrent, Task, Toolkit, Training
from benchmarks.peers.writing import write_settings

RUN = "run"  # the run folder, in the job's


def command(job: Job) -> list[str]:
    settings = {
        "data": data(job),
        "text": {"source": {"type": "whitespace"}, "joint": True, "sample": job.pieces.pairs},
        "model": recurrent(job.training.shape),
        "objective": {"type": "cross-entropy", "smoothing": 0.0},
        "train": training(job.training),
    }
    path = write_settings(job.folder / "weft.yaml", settings)
    return ["-m", "weft", "train", path, "--out", str(job.folder / RUN), "--device", "cpu"]


def data(job: Job) -> dict[str, Any]:
    """No pair is left out: the peers leave none out either."""
    return {
        "train": [str(job.pieces.file("train", side)) for side in SIDES],
        "cache": str(job.folder),
        "drop_duplicates": False,
        "max_length": 100_000,
        "max_ratio": 100_000.0,
    }


def training(task: Training) -> dict[str, Any]:
    return {
        "seed": task.seed,
        "steps": task.steps,
        "batch_tokens": task.batch_tokens,
        "optimiser": {"type": "adam", "beta2": 0.999, "epsilon": 1e-8},
        "schedule": {"type": "linear", "peak": task.rate, "warmup": 0, "floor": 1.0},  # stays at the peak
        "clip": task.clip,
        "log_every": task.updates,
    }


def recurrent(shape: Recurrent) -> dict[str, Any]:
    embedding = {"type": "tokens", "dim": shape.embedding, "scaled": False, "dropout": shape.dropout}
    return {
        "source": embedding,
        "encoder": {"type": "recurrent", "cell": cell(shape, shape.hidden), "ways": "both", "merge": "concat"},
        "target": embedding,
        "decoder": {
            "type": "luong",
            "cell": cell(shape, shape.decoder),
            "score": shape.score,
            "feeding": True,
            "bridge": "copy",
            "dim": shape.decoder,
            "dropout": shape.dropout,
        },
        "tie": "none",
    }


def cell(shape: Recurrent, dim: int) -> dict[str, Any]:
    """torch's GRU, which the peers use, resets after the product."""
    return {"type": shape.cell, "dim": dim} | ({"reset": "after"} if shape.cell == "gru" else {})


def read(job: Job, printed: str) -> Figures:
    """Real target tokens; the loss is the mean over the measured updates."""
    (parameters,) = last(r"([\d,]+) parameters", printed)
    lines = (job.folder / RUN / "log.jsonl").read_text(encoding="utf-8").strip().split("\n")
    record = next(record for record in map(json.loads, lines) if record["step"] == job.training.steps)
    return Figures(int(parameters.replace(",", "")), record["tokens_per_second"], record["loss"])


WEFT = Toolkit("weft", None, Task(command, read))
