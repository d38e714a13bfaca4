"""JoeyNMT 2.3.0.

The encoder's `hidden_size` counts one direction; the decoder's also sets the size of the attentional state.
`init_hidden: last` copies the encoder's last hidden state into both states of an LSTM, without a projection. Dropout
applies to the embeddings, to the fed attentional state and to [h; c]. Differences from Weft: the attentional layer has
a bias, the output layer has none, and torch's cells have two biases each. The Transformer differs only in the bias of
the output layer. With label smoothing its loss is a KL divergence, which is lower than the cross-entropy. Batches are
not sorted by length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.environments import Pins
from benchmarks.peers.shapes import Recurrent, Transformer
from benchmarks.peers.toolkit import Figures, Job, Shape, Toolkit, Training, last_match, write_settings

VERSION = "2.3.0"
SCORES = {"general": "luong", "additive": "bahdanau"}
VALIDATION_WINDOWS = 10_000  # windows of updates before the first validation, so that there is none


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
    """Languages are the file name extensions."""
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
        "scheduling": "exponential",  # required
        "decrease_factor": 1.0,
        "clip_grad_norm": task.clip,
        "normalization": "tokens",
        "label_smoothing": task.smoothing,
        "batch_size": task.batch_tokens,
        "batch_type": "token",
        "epochs": task.steps,  # an epoch has at least one batch
        "updates": task.steps,
        "logging_freq": task.updates,
        "validation_freq": task.updates * VALIDATION_WINDOWS,
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


def read(job: Job[Shape], output: str) -> Figures:
    """Speed counts target tokens without padding; the loss is that of the last batch."""
    (parameters,) = last_match(r"Total params: (\d+)", output)
    loss, speed = last_match(rf"Step: +{job.training.steps}, Batch Loss: +([\d.]+),.*Tokens per Sec: +(\d+)", output)
    return Figures(int(parameters), float(speed), float(loss))


PINS = Pins(f"joeynmt-{VERSION}", ((f"joeynmt=={VERSION}", "importlib_metadata"),))  # an undeclared dependency


def recurrent_command(job: Job[Recurrent]) -> list[str]:
    return command(job, recurrent(job.training.shape))


def transformer_command(job: Job[Transformer]) -> list[str]:
    return command(job, transformer(job.training.shape))


RECURRENT = Toolkit("joeynmt", PINS, recurrent_command, read)
TRANSFORMER = Toolkit("joeynmt", PINS, transformer_command, read)
