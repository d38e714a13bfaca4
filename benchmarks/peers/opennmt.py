"""OpenNMT-py 3.5.1.

Its `hidden_size` is the decoder's, and that of both directions of the encoder together. The decoder starts from a copy
of the encoder's last states. Dropout falls on embeddings and on h~. Compared with ours: torch's cells have two biases
each; with the additive score h~ has a bias and no tanh. Pairs of about one length come together, as with us. Batches
are made in the training process (`num_workers: 0`), so that it has the same threads as the others and no process more.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.data import SIDES
from benchmarks.peers.environments import Pins
from benchmarks.peers.reading import last
from benchmarks.peers.tasks import Figures, Job, Recurrent, Task, Toolkit, Training
from benchmarks.peers.writing import write_settings

VERSION = "3.5.1"
SCORES = {"general": "general", "additive": "mlp"}
NEVER = 1_000_000_000  # steps
MARKS = 4  # it counts its own as part of the vocabulary


def command(job: Job) -> list[str]:
    settings = {**data(job), **training(job.training), **recurrent(job.training.shape)}
    path = write_settings(job.folder / "opennmt.yaml", settings)
    return ["-I", "-m", "onmt.bin.train", "-config", path]


def data(job: Job) -> dict[str, Any]:
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


def training(task: Training) -> dict[str, Any]:
    return {
        "seed": task.seed,
        "optim": "adam",
        "learning_rate": task.rate,
        "learning_rate_decay": 1.0,
        "max_grad_norm": task.clip,
        "normalization": "tokens",
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


def read(job: Job, printed: str) -> Figures:
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
OPENNMT = Toolkit("opennmt", PINS, Task(command, read))
