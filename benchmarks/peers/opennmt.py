"""OpenNMT-py 3.5.1.

Its `hidden_size` is the decoder's, and that of both directions of the encoder together. The decoder starts from a copy
of the encoder's last states. Dropout falls on embeddings and on h~. Compared with ours: torch's cells have two biases
each; with the additive score h~ has a bias and no tanh. A Transformer is ours to the last parameter. Pairs of about one
length come together, as with us. Batches are made in the training process (`num_workers: 0`), so that it has the same
threads as the others and no process more.
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

VERSION = "3.5.1"
SCORES = {"general": "general", "additive": "mlp"}
NEVER = 1_000_000_000  # steps
MARKS = 4  # it counts its own as part of the vocabulary


def command(job: Job[Shape], model: Mapping[str, Any]) -> list[str]:
    settings = {**data(job), **training(job.training), **model}
    path = write_settings(job.folder / "opennmt.yaml", settings)
    return ["-I", "-m", "onmt.bin.train", "-config", path]


def data(job: Job[Shape]) -> dict[str, Any]:
    """The bucket that is sorted by length is the whole corpus, or as much as the toolkit would take by default."""
    source, target = (str(job.pieces.file("train", side)) for side in SIDES)
    return {
        "data": {"corpus": {"path_src": source, "path_tgt": target, "transforms": [], "weight": 1}},
        "src_vocab": str(job.pieces.words),
        "share_vocab": True,
        "vocab_size_multiple": 1,
        "src_vocab_size": job.pieces.vocabulary + MARKS,  # the rest would be cut off
        "save_model": str(job.folder / "model"),
        "bucket_size": min(job.pieces.pairs, 262_144),
        "num_workers": 0,
    }


def training(task: Training[Shape]) -> dict[str, Any]:
    return {
        "seed": task.seed,
        "optim": "adam",
        "learning_rate": task.rate,
        "learning_rate_decay": 1.0,
        "max_grad_norm": task.clip,
        "normalization": "tokens",
        "label_smoothing": task.smoothing,
        "batch_size": task.batch_tokens,
        "batch_type": "tokens",
        "train_steps": task.steps,
        "report_every": task.updates,
        "valid_steps": NEVER,
        "save_checkpoint_steps": NEVER,
    }


def recurrent(shape: Recurrent) -> dict[str, Any]:
    return {
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": shape.cell.upper(),
        "enc_layers": 1,
        "dec_layers": 1,
        "hidden_size": shape.decoder,
        "word_vec_size": shape.embedding,
        "input_feed": 1,
        "global_attention": SCORES[shape.score],
        "dropout": [shape.dropout],
    }


def transformer(shape: Transformer) -> dict[str, Any]:
    """Its layers have norms before them, and biases only where they are asked for."""
    return {
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": shape.layers,
        "heads": shape.heads,
        "hidden_size": shape.dim,
        "word_vec_size": shape.dim,
        "transformer_ff": shape.hidden,
        "position_encoding": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "param_init_glorot": True,
        "dropout": [shape.dropout],
        "attention_dropout": [shape.dropout],
    }


def read(job: Job[Shape], printed: str) -> Figures:
    """It counts every target that is no padding; its loss is the mean over the measured updates."""
    (parameters,) = last(r"number of parameters: (\d+)", printed)
    loss, speed = last(rf"Step +{job.training.steps}/.* xent: +([\d.]+);.*/ *(\d+) tok/s", printed)
    return Figures(int(parameters), float(speed), float(loss))


PINS = Pins(
    f"opennmt-{VERSION}",
    (
        ("--no-deps", f"OpenNMT-py=={VERSION}"),  # it asks for a torch below 2.3
        ("configargparse", "ctranslate2", "tensorboard", "flask", "waitress", "pyonmttok", "pyyaml", "sacrebleu"),
        ("rapidfuzz", "pyahocorasick", "fasttext-wheel", "spacy", "six"),
    ),
)


def recurrent_command(job: Job[Recurrent]) -> list[str]:
    return command(job, recurrent(job.training.shape))


def transformer_command(job: Job[Transformer]) -> list[str]:
    return command(job, transformer(job.training.shape))


RECURRENT = Toolkit("opennmt", PINS, recurrent_command, read)
TRANSFORMER = Toolkit("opennmt", PINS, transformer_command, read)
