"""JoeyNMT 2.3.0.

Its encoder's `hidden_size` is that of one direction; its decoder's is its own, and h~ has as many. `init_hidden: last`
takes the encoder's last h for both states of an LSTM, without a matrix. Dropout falls on embeddings, on the fed h~
beside the embedding, and on [h; c] before h~. Compared with ours: h~ has a bias, the output layer none, and torch's
cells have two biases each. A Transformer is ours but for the bias of the output layer; with smoothing its loss is a
divergence, less than a cross-entropy. Batches are taken as the sentences come, with no regard to length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.environments import Pins
from benchmarks.peers.reading import last
from benchmarks.peers.shapes import Recurrent, Transformer
from benchmarks.peers.tasks import Figures, Job, Shape, Toolkit, Training
from benchmarks.peers.writing import write_settings

VERSION = "2.3.0"
SCORES = {"general": "luong", "additive": "bahdanau"}
NEVER = 10_000  # so many windows of updates go by before the first validation


def command(job: Job[Shape], model: Mapping[str, Any]) -> list[str]:
    settings = {
        "name": "benchmark",
        "joeynmt_version": VERSION,
        "model_dir": str(job.folder / "model"),
        "use_cuda": False,
        "random_seed": job.training.seed,
        "data": data(job),
        "testing": {},
        "training": training(job.training),
        "model": model,
    }
    path = write_settings(job.folder / "joeynmt.yaml", settings)
    return ["-I", "-m", "joeynmt", "train", path, "--skip-test"]


def data(job: Job[Shape]) -> dict[str, Any]:
    """Its languages are the endings of the file names."""
    source, target = SIDES
    side = {"level": "word", "lowercase": False, "voc_file": str(job.pieces.words)}
    return {
        "train": str(job.pieces.folder / "train"),
        "dev": str(job.pieces.folder / "few"),
        "dataset_type": "plain",
        "src": {"lang": source, **side},
        "trg": {"lang": target, **side},
    }


def training(task: Training[Shape]) -> dict[str, Any]:
    return {
        "optimizer": "adam",
        "learning_rate": task.rate,
        "scheduling": "exponential",  # it wants one
        "decrease_factor": 1.0,
        "clip_grad_norm": task.clip,
        "normalization": "tokens",
        "label_smoothing": task.smoothing,
        "batch_size": task.batch_tokens,
        "batch_type": "token",
        "epochs": task.steps,  # at least so many batches
        "updates": task.steps,
        "logging_freq": task.updates,
        "validation_freq": task.updates * NEVER,
    }


def recurrent(shape: Recurrent) -> dict[str, Any]:
    both = {
        "type": "recurrent",
        "rnn_type": shape.cell,
        "num_layers": 1,
        "embeddings": {"embedding_dim": shape.embedding, "scale": False, "dropout": shape.dropout},
    }
    decoder = {
        "hidden_size": shape.decoder,
        "hidden_dropout": shape.dropout,
        "attention": SCORES[shape.score],
        "input_feeding": True,
        "init_hidden": "last",
    }
    return {
        "tied_embeddings": False,
        "tied_softmax": False,
        "encoder": {**both, "hidden_size": shape.hidden, "bidirectional": True},
        "decoder": {**both, **decoder},
    }


def transformer(shape: Transformer) -> dict[str, Any]:
    both = {
        "type": "transformer",
        "num_layers": shape.layers,
        "num_heads": shape.heads,
        "hidden_size": shape.dim,
        "ff_size": shape.hidden,
        "layer_norm": "pre",
        "dropout": shape.dropout,
        "embeddings": {"embedding_dim": shape.dim, "scale": True, "dropout": shape.dropout},
    }
    return {"tied_embeddings": True, "tied_softmax": True, "encoder": both, "decoder": both}


def read(job: Job[Shape], printed: str) -> Figures:
    """It counts every target that is no padding; its loss is that of the last batch."""
    (parameters,) = last(r"Total params: (\d+)", printed)
    loss, speed = last(rf"Step: +{job.training.steps}, Batch Loss: +([\d.]+),.*Tokens per Sec: +(\d+)", printed)
    return Figures(int(parameters), float(speed), float(loss))


PINS = Pins(f"joeynmt-{VERSION}", ((f"joeynmt=={VERSION}", "importlib_metadata"),))  # which it uses and does not name


def recurrent_command(job: Job[Recurrent]) -> list[str]:
    return command(job, recurrent(job.training.shape))


def transformer_command(job: Job[Transformer]) -> list[str]:
    return command(job, transformer(job.training.shape))


RECURRENT = Toolkit("joeynmt", PINS, recurrent_command, read)
TRANSFORMER = Toolkit("joeynmt", PINS, transformer_command, read)
