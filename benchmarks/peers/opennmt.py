"""OpenNMT-py 3.5.1.

`hidden_size` is the size of the decoder, and of both encoder directions together. The decoder starts from a copy of the
encoder's last states. Dropout applies to the embeddings and the attentional state. Differences from Weft: torch's cells
have two biases each; with the additive score the attentional layer has a bias and no tanh. The Transformer has exactly
Weft's parameters. Batches are sorted by length, as in Weft. They are made in the training process (`num_workers: 0`),
so that all toolkits have the same number of threads and processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.environments import Pins
from benchmarks.peers.shapes import Recurrent, Transformer
from benchmarks.peers.toolkit import Figures, Job, Shape, Toolkit, Training, last_match, write_settings

VERSION = "3.5.1"
SCORES = {"general": "general", "additive": "mlp"}
NO_VALIDATION = 1_000_000_000  # steps
SPECIAL_TOKENS = 4  # count as part of its vocabulary


def command(job: Job[Shape], model: Mapping[str, Any]) -> list[str]:
    settings = {**data(job), **training(job.training), **model}
    path = write_settings(job.folder / "opennmt.yaml", settings)
    return ["-I", "-m", "onmt.bin.train", "-config", path]


def data(job: Job[Shape]) -> dict[str, Any]:
    """Sort the whole corpus by length, or the default bucket size if the corpus is larger."""
    source, target = (str(job.pieces.file("train", side)) for side in SIDES)
    return {
        "data": {"corpus": {"path_src": source, "path_tgt": target, "transforms": [], "weight": 1}},
        "src_vocab": str(job.pieces.words),
        "share_vocab": True,
        "vocab_size_multiple": 1,
        "src_vocab_size": job.pieces.vocabulary + SPECIAL_TOKENS,  # the vocabulary is truncated to this size
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
        "valid_steps": NO_VALIDATION,
        "save_checkpoint_steps": NO_VALIDATION,
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
    """Pre-norm layers; biases need explicit options."""
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


def read(job: Job[Shape], output: str) -> Figures:
    """Speed counts target tokens without padding; the loss is the mean over the measured updates."""
    (parameters,) = last_match(r"number of parameters: (\d+)", output)
    loss, speed = last_match(rf"Step +{job.training.steps}/.* xent: +([\d.]+);.*/ *(\d+) tok/s", output)
    return Figures(int(parameters), float(speed), float(loss))


PINS = Pins(
    f"opennmt-{VERSION}",
    (
        ("--no-deps", f"OpenNMT-py=={VERSION}"),  # it requires torch < 2.3
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
