"""Law 8: every recipe of the package builds at its own size, its small variant learns; every family learns to copy."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

import weft
from laws.given import GIVEN
from laws.variants import SMALL, VOCABULARY, as_pictures, batch
from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict, to_dict
from weft.core.codec import NUM_SPECIAL_TOKENS
from weft.data.batches import Batch
from weft.models.build import build_model
from weft.models.model import count_parameters
from weft.models.slots import Decoder
from weft.text.text_config import source_modality
from weft.training.distributed import CPU_RANK
from weft.training.recipe_checks import check_recipe
from weft.training.strategy import TrainingStrategy
from weft.training.train_step import train_step

CONFIGS = sorted(RECIPES_FOLDER.glob("*.yaml"))
TIED = SMALL | {"maxout_dim": SMALL["dim"]}  # what the head reads is as wide as an embedding, so that they can be one
ALPHABET = 300  # pieces of a tokenizer whose size the text decides
FITTING = batch(
    (6, 6), (4, 4), (7, 2)
)  # no target is longer than its source, since some frame heads have a frame a token


@pytest.fixture(params=CONFIGS, ids=lambda path: path.stem)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return load_recipe(request.param)


def test_every_file_builds_at_its_own_size(recipe: Recipe) -> None:
    node = to_dict(recipe, REGISTRY)
    size = NUM_SPECIAL_TOKENS + node["text"]["source"].get("vocab_size", ALPHABET)
    vocabulary = ["a"] * size
    with torch.device("meta"):
        model = build_model(recipe.model, vocabulary, vocabulary, joint=recipe.text.joint)
    assert {weight.device.type for weight in model.parameters()} == {"meta"}
    widest = max(node["model"][side].get("dim", 0) for side in ("source", "target"))
    assert size * widest < count_parameters(model)


def test_every_file_passes_the_checks_before_training(recipe: Recipe) -> None:
    data, train = (
        replace(recipe.data, train=("a file",)),
        replace(recipe.train, initial_model=None),
    )  # what only users have
    check_recipe(replace(recipe, data=data, train=train))


def test_a_recipe_that_begins_with_a_run_of_another_has_its_model() -> None:
    risk, joint = (CONFIGS[0].with_name(f"g2p-{name}.yaml") for name in ("minimum-risk", "recurrent"))
    first = next(line for line in risk.read_text("utf-8").split("\n") if f"weft train {joint.stem} " in line)
    before = load_recipe(
        joint, [word for word in first.split() if word.startswith(("model.", "objective", "translate."))]
    )
    after = load_recipe(risk)
    assert first.endswith(f"--out {after.train.initial_model}")
    assert to_dict(after, REGISTRY)["model"] == to_dict(before, REGISTRY)["model"]
    assert to_dict(after, REGISTRY)["text"] == to_dict(before, REGISTRY)["text"]


def test_the_published_number_of_weights() -> None:
    """Sutskever et al. 2014, section 3.4: 384 million, of which 64 are recurrent; biases and marks are not counted."""
    recipe = load_recipe(next(path for path in CONFIGS if path.stem == "sutskever2014"))
    source, target = ["a"] * 160_000, ["a"] * 80_000
    with torch.device("meta"):
        model = build_model(recipe.model, source, target, joint=False)
    matrices = {name: weight.numel() for name, weight in model.named_parameters() if weight.ndim == 2}
    assert sum(matrices.values()) == 384_000_000
    assert sum(count for name, count in matrices.items() if ".cells." in name) == 64_000_000


def test_the_small_variant_of_every_file_learns(recipe: Recipe) -> None:
    node = to_dict(recipe, REGISTRY)
    small = from_dict({**node, "model": shrunk(node["model"])}, Recipe, REGISTRY)
    torch.manual_seed(1)
    model = build_model(small.model, VOCABULARY, VOCABULARY, joint=True)
    optimizer, spread = (
        small.train.optimizer(model.parameters()),
        TrainingStrategy(CPU_RANK, model, small.objective(GIVEN)),
    )
    pairs = [fitting(small)]
    losses = [
        train_step(spread, optimizer, pairs, step=step, learning_rate=0.01, clip_norm=1.0).loss for step in range(1, 21)
    ]
    assert all(0 < loss < float("inf") for loss in losses)
    assert losses[-1] < 0.8 * losses[0]


def test_every_weight_of_every_file_is_used(recipe: Recipe) -> None:
    node = to_dict(recipe, REGISTRY)
    small = from_dict({**node, "model": shrunk(node["model"])}, Recipe, REGISTRY)
    torch.manual_seed(1)
    model = build_model(small.model, VOCABULARY, VOCABULARY, joint=True)
    torch.autograd.backward(small.objective(GIVEN)(model, fitting(small), 1).total)
    idle = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert idle == []


def fitting(recipe: Recipe) -> Batch:
    """Pairs for a recipe of text, or of pictures."""
    return FITTING if source_modality(recipe.text) == "text" else as_pictures(FITTING)


def shrunk(node: Any) -> Any:
    """The node with small numbers wherever a setting has one of the names of SMALL."""
    if isinstance(node, list):
        return [shrunk(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {name: min(value, TIED[name]) if name in TIED and value else shrunk(value) for name, value in node.items()}


PLACED = {"dim": 64, "positions": "sinusoidal"}
FREE = {"dim": 64, "scale": False}
FAMILIES: dict[str, dict[str, Any]] = {
    "transformer": {
        "source": PLACED,
        "encoder": {"type": "transformer", "layers": 2, "heads": 4, "ffn_dim": 128},
        "target": PLACED,
        "decoder": {"type": "transformer", "layers": 2, "heads": 4, "ffn_dim": 128},
    },
    "bahdanau": {
        "source": FREE,
        "encoder": {"type": "recurrent", "cell": {"dim": 64}},
        "target": FREE,
        "decoder": {"type": "bahdanau", "cell": {"dim": 64}, "maxout_dim": 64},
    },
    "sutskever": {
        "source": FREE,
        "encoder": {"type": "recurrent", "cell": {"type": "lstm", "dim": 128}, "directions": "backward"},
        "target": FREE,
        "decoder": {"type": "sutskever", "cell": {"dim": 128}, "bridge": "copy"},
    },
    "cho": {
        "source": FREE,
        "encoder": {"type": "recurrent", "cell": {"dim": 256}, "directions": "forward"},
        "target": FREE,
        "decoder": {"type": "cho", "cell": {"dim": 256}, "summary_dim": 256, "maxout_dim": 128},
    },
    "luong": {
        "source": FREE,
        "encoder": {"type": "recurrent", "cell": {"type": "lstm", "dim": 64}, "merge": "sum"},
        "target": FREE,
        "decoder": {"type": "luong", "cell": {"dim": 64}, "dim": 64},
    },
    "gnmt": {
        "source": FREE,
        "encoder": {"type": "recurrent", "cell": {"type": "lstm", "dim": 64}, "layers": 2, "directions": "both-first"},
        "target": FREE,
        "decoder": {"type": "gnmt", "cell": {"dim": 64}, "layers": 2},
    },
    "convs2s": {
        "source": {"dim": 64, "scale": False, "positions": "learned"},
        "encoder": {"type": "convs2s", "layers": 2, "dim": 64, "attention_layers": 2},
        "target": {"dim": 64, "scale": False, "positions": "learned"},
        "decoder": {"type": "convs2s", "layers": 2, "dim": 64},
    },
    "kalchbrenner": {
        "source": {"dim": 256},
        "encoder": {"type": "kalchbrenner"},
        "target": {"dim": 64},
        "decoder": {"type": "kalchbrenner", "cell": {"type": "gru", "dim": 256}},
    },
}

LEAST = {"kalchbrenner": 0.75}  # it knows its training data by heart, and 83 % of sentences that it has never seen


@pytest.mark.slow
@pytest.mark.parametrize("family", [name for name in REGISTRY[Decoder] if name != "none"])
def test_every_family_learns_to_copy(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    draws = Random(5)
    write_copies(tmp_path / "train.jsonl", draws, 5000)
    run = weft.train(
        {
            "data": {"folder": str(tmp_path), "train": ["train.jsonl"]},
            "text": {"source": "whitespace"},
            "model": FAMILIES[family],
            "train": {
                "steps": 800,
                "batch_tokens": 1000,
                "schedule": {"type": "linear", "learning_rate": 3e-3, "warmup_steps": 100},
            },
            "translate": {"search": "greedy"},
        },
        out=tmp_path / "run",
    )
    lines = [numbers(draws) for _ in range(200)]
    copies = [translation.text for translation in weft.load(run).translate(lines)]
    right = sum(copy == line for copy, line in zip(copies, lines, strict=True))
    assert right >= LEAST.get(family, 0.95) * len(lines)


def write_copies(path: Path, draws: Random, count: int) -> None:
    lines = (numbers(draws) for _ in range(count))
    path.write_text("".join(json.dumps({"source": line, "target": line}) + "\n" for line in lines), "utf-8")


def numbers(draws: Random) -> str:
    return " ".join(str(draws.randrange(20)) for _ in range(draws.randint(3, 9)))
