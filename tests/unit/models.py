"""Small models that have learned nothing, of several kinds, in memory and in folders."""

from pathlib import Path
from typing import Any

import torch

from weft.config.load import load_recipe
from weft.model.build import build
from weft.store.model_folder import Trained, save_model, weights_of
from weft.text.learners import Character, Learner
from weft.text.tokenizer import Tokenizer

LETTERS = ["abcde", "edcba"]
TRANSFORMER: dict[str, Any] = {
    "source": {"dim": 8, "positions": "sinusoidal"},
    "encoder": {"type": "transformer", "layers": 1, "heads": 2, "hidden": 12},
    "target": {"dim": 8, "positions": "sinusoidal"},
    "decoder": {"type": "transformer", "layers": 1, "heads": 2, "hidden": 12},
}
BAHDANAU: dict[str, Any] = {
    "source": {"dim": 8, "scaled": False},
    "encoder": {"type": "recurrent", "cell": {"dim": 8}},
    "target": {"dim": 8, "scaled": False},
    "decoder": {"type": "bahdanau", "cell": {"dim": 8}, "maxout": 8},
}
SUTSKEVER: dict[str, Any] = BAHDANAU | {"decoder": {"type": "sutskever", "cell": {"dim": 8}}}
LANGUAGE: dict[str, Any] = TRANSFORMER | {"source": "none", "encoder": "none"}
CTC: dict[str, Any] = BAHDANAU | {"target": "none", "decoder": "none", "lattice": {"type": "ctc", "upsample": 2}}
JOINT: dict[str, Any] = BAHDANAU | {"lattice": {"type": "ctc", "upsample": 2}}
INSTANT: dict[str, Any] = CTC | {"lattice": {"type": "aligned", "length": "head"}}
INSTANT_TO_MARK: dict[str, Any] = CTC | {"lattice": {"type": "aligned", "length": "end"}}
FAMILIES = {"transformer": TRANSFORMER, "bahdanau": BAHDANAU, "sutskever": SUTSKEVER}


def letters(learner: Learner | None = None) -> Tokenizer:
    return (learner or Character()).learn(LETTERS)


def untrained(
    model: dict[str, Any],
    seed: int = 1,
    *,
    source: Tokenizer | None = None,
    target: Tokenizer | None = None,
    translate: dict[str, Any] | None = None,
) -> Trained:
    """A model of the letters a to e, unless it has other pieces; with large weights, so that it has opinions."""
    one_sided = model["encoder"] == "none"
    node: dict[str, Any] = {
        "data": {"max_length": 12, "one_sided": one_sided},
        "text": {"source": "character", "joint": source is None, "target_order": (target or letters()).order},
        "model": model,
        "translate": {"length_factor": 1.0, "length_extra": 3, **(translate or {})},
    }
    recipe = load_recipe(node)
    target = target or letters()
    source = source or (target if target.order == "forward" else letters())
    torch.manual_seed(seed)
    made = build(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)
    return Trained(made, source, target, recipe, {})


def saved(folder: Path, trained: Trained) -> Path:
    """The model in a folder, in single precision as every folder has it."""
    save_model(folder, trained, {name: weight.float() for name, weight in weights_of(trained.model).items()})
    return folder
