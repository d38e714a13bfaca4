"""Weft, run like the peers: by its command, on the same files, with figures read from its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.shapes import Recurrent, Transformer
from benchmarks.peers.toolkit import Figures, Job, Shape, Toolkit, Training, last_match, write_settings

NAME = "weft"
RUN = "run"  # run folder, inside the job's folder


def command(job: Job[Shape], model: Mapping[str, Any], precision: str, parts: int = 1) -> list[str]:
    """Return the training command; `parts` is the number of gradient accumulation steps per update."""
    settings = {
        "data": data(job),
        "text": {"source": {"type": "whitespace"}, "joint": True, "sample_size": job.pieces.pairs},
        "model": model,
        "objective": {"type": "cross-entropy", "label_smoothing": job.training.smoothing},
        "train": {**training(job.training, parts), "precision": precision},
    }
    path = write_settings(job.folder / "weft.yaml", settings)
    return ["-m", "weft", "train", path, "--out", str(job.folder / RUN), "--device", "cpu"]


def data(job: Job[Shape]) -> dict[str, Any]:
    """Keep every pair, as the peers do."""
    return {
        "train": [str(job.pieces.file("train", side)) for side in SIDES],
        "cache": str(job.folder),
        "drop_duplicates": False,
        "max_length": 100_000,
        "max_length_ratio": 100_000.0,
    }


def training(task: Training[Shape], parts: int) -> dict[str, Any]:
    return {
        "seed": task.seed,
        "steps": task.steps,
        "batch_tokens": task.batch_tokens // parts,
        "gradient_accumulation": parts,
        "optimizer": {"type": "adam", "beta2": 0.999, "epsilon": 1e-8},
        "schedule": {
            "type": "linear",
            "learning_rate": task.rate,
            "warmup_steps": 0,
            "min_lr_ratio": 1.0,
        },  # constant
        "clip_norm": task.clip,
        "log_every": task.updates,
    }


def recurrent(shape: Recurrent) -> dict[str, Any]:
    embedding = {"type": "tokens", "dim": shape.embedding, "scale": False, "dropout": shape.dropout}
    return {
        "source": embedding,
        "encoder": {"type": "recurrent", "cell": cell(shape, shape.hidden), "directions": "both", "merge": "concat"},
        "target": embedding,
        "decoder": {
            "type": "luong",
            "cell": cell(shape, shape.decoder),
            "score": shape.score,
            "input_feeding": True,
            "bridge": "copy",
            "dim": shape.decoder,
            "dropout": shape.dropout,
        },
        "tie": "none",
    }


def cell(shape: Recurrent, dim: int) -> dict[str, Any]:
    """The peers use torch's GRU, which applies the reset gate after the matrix product."""
    return {"type": shape.cell, "dim": dim} | ({"reset_after": True} if shape.cell == "gru" else {})


def transformer(shape: Transformer) -> dict[str, Any]:
    embedding = {"type": "tokens", "dim": shape.dim, "positions": "sinusoidal", "dropout": shape.dropout}
    layers = {
        "type": "transformer",
        "layers": shape.layers,
        "heads": shape.heads,
        "ffn_dim": shape.hidden,
        "dropout": shape.dropout,
        "attention_dropout": shape.dropout,
    }
    return {"source": embedding, "encoder": layers, "target": embedding, "decoder": layers, "tie": "all"}


def read(job: Job[Shape], output: str) -> Figures:
    """Speed counts target tokens without padding; the loss is the mean over the measured updates."""
    (parameters,) = last_match(r"([\d,]+) parameters", output)
    lines = (job.folder / RUN / "log.jsonl").read_text(encoding="utf-8").strip().split("\n")
    record = next(record for record in map(json.loads, lines) if record["step"] == job.training.steps)
    return Figures(int(parameters.replace(",", "")), record["tokens_per_second"], record["loss"])


def recurrent_command(job: Job[Recurrent]) -> list[str]:
    return command(job, recurrent(job.training.shape), "float32")


def transformer_toolkit(precision: str, parts: int = 1) -> Toolkit[Transformer]:
    """Return Weft in this precision; float32, the precision of the peers, has the plain name."""

    def transformer_command(job: Job[Transformer]) -> list[str]:
        return command(job, transformer(job.training.shape), precision, parts)

    name = NAME if precision == "float32" else f"{NAME} {precision}"
    return Toolkit(name if parts == 1 else f"{name} in {parts} parts", None, transformer_command, read, precision)


RECURRENT = Toolkit(NAME, None, recurrent_command, read)
