"""Instant decoders from a text file to lines with their capitals, as a person would use them."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from system import toys
from system.commands import weft
from weft.metrics.corpus_metrics import evaluate

MODELS: dict[str, dict[str, Any]] = {
    "lstm-dense": {
        "source": {"dim": 12, "scale": False},
        "encoder": {"type": "recurrent", "cell": {"type": "lstm", "dim": 24}},
        "frame_head": "aligned",
    },
    "dense-dense": {
        "source": {"dim": 8, "scale": False},
        "encoder": "identity",
        "frame_head": {"type": "dense", "max_length": 48, "hidden_dims": [64], "length_prediction": "classifier"},
    },
}
CHARACTER_ERRORS = {"lstm-dense": 2.0, "dense-dense": 35.0}  # in percent; Dense learns each place by itself


def cased(draws: Random) -> str:
    """A line of the toy language in which names of things have capitals: "the red Cat sees a Dog"."""
    words = toys.sentence(draws)[0].split()
    return " ".join(word.capitalize() if word in toys.NOUNS else word for word in words)


def write_text(path: Path, draws: Random, count: int) -> None:
    path.write_text("".join(cased(draws) + "\n" for _ in range(count)), "utf-8", newline="\n")


def recipe(folder: Path, model: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {
            "folder": str(folder),
            "train": ["train.txt", "train.txt"],
            "valid": ["valid.txt", "valid.txt"],
            "max_length": 47,
        },
        "text": {"source": {"type": "character", "lowercase": True}, "target": "character", "joint": False},
        "model": {**model, "target": "none", "decoder": "none"},
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "train": {
            "steps": 100,
            "batch_tokens": 1000,
            "schedule": {"learning_rate": 0.02, "warmup_steps": 20},
            "validation": {"every": 50, "metrics": ["cer"], "best_metric": "cer", "frame_decoder": "position-wise"},
            "log_every": 50,
        },
        "translate": {"frame_decoder": "position-wise"},
    }


@pytest.mark.parametrize("family", MODELS)
def test_case_is_restored(family: str, tmp_path: Path) -> None:
    draws = Random(3)
    write_text(tmp_path / "train.txt", draws, 400)
    write_text(tmp_path / "valid.txt", draws, 20)
    written = toys.write_recipe(tmp_path / "recipe.yaml", recipe(tmp_path, MODELS[family]))
    assert weft("train", written, "--out", tmp_path / "run").code == 0
    lines = [cased(draws) for _ in range(20)]
    small = "".join(f"{line.lower()}\n" for line in lines)
    result = weft("translate", tmp_path / "run", "--json", stdin=small.encode())
    assert result.code == 0
    outputs = [json.loads(line)["text"] for line in result.lines]
    (errors,) = evaluate(outputs, [[line] for line in lines], ["cer"])
    assert errors.value <= CHARACTER_ERRORS[family]
