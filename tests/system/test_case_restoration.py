"""Frame heads end to end: models that restore upper case, trained and used with the commands."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from system import toys
from system.commands import weft
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.scores import Segments

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
# Limits in percent; the dense head learns each position separately.
CHARACTER_ERRORS = {
    "lstm-dense": 2.0,
    "dense-dense": 35.0,
}


def draw_line(rng: Random) -> str:
    """Draw a sentence of the toy language with capitalized nouns: "the red Cat sees a Dog"."""
    words = toys.sentence(rng)[0].split()
    return " ".join(word.capitalize() if word in toys.NOUNS else word for word in words)


def write_text(path: Path, rng: Random, count: int) -> None:
    path.write_text("".join(draw_line(rng) + "\n" for _ in range(count)), "utf-8", newline="\n")


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
def test_model_restores_upper_case(family: str, tmp_path: Path) -> None:
    rng = Random(3)
    write_text(tmp_path / "train.txt", rng, 400)
    write_text(tmp_path / "valid.txt", rng, 20)
    recipe_file = toys.write_recipe(tmp_path / "recipe.yaml", recipe(tmp_path, MODELS[family]))
    assert weft("train", recipe_file, "--out", tmp_path / "run").code == 0
    lines = [draw_line(rng) for _ in range(20)]
    lowercased = "".join(f"{line.lower()}\n" for line in lines)
    result = weft("translate", tmp_path / "run", "--json", stdin=lowercased.encode())
    assert result.code == 0
    outputs = [json.loads(line)["text"] for line in result.lines]
    (errors,) = evaluate(Segments(outputs, [[line] for line in lines]), ["cer"])
    assert errors.value <= CHARACTER_ERRORS[family]
