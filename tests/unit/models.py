"""Small untrained models of several architectures, in memory and in folders."""

from pathlib import Path
from typing import Any

import torch

from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.models.build import build_model
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import CharacterTokenizerTrainer, TokenizerTrainer

LETTERS = ["abcde", "edcba"]
TRANSFORMER: dict[str, Any] = {
    "source": {"dim": 8, "positions": "sinusoidal"},
    "encoder": {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 12},
    "target": {"dim": 8, "positions": "sinusoidal"},
    "decoder": {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 12},
}
BAHDANAU: dict[str, Any] = {
    "source": {"dim": 8, "scale": False},
    "encoder": {"type": "recurrent", "cell": {"dim": 8}},
    "target": {"dim": 8, "scale": False},
    "decoder": {"type": "bahdanau", "cell": {"dim": 8}, "maxout_dim": 8},
}
SUTSKEVER: dict[str, Any] = BAHDANAU | {"decoder": {"type": "sutskever", "cell": {"dim": 8}}}
LANGUAGE: dict[str, Any] = TRANSFORMER | {"source": "none", "encoder": "none"}
CTC: dict[str, Any] = BAHDANAU | {"target": "none", "decoder": "none", "frame_head": {"type": "ctc", "upsample": 2}}
JOINT: dict[str, Any] = BAHDANAU | {"frame_head": {"type": "ctc", "upsample": 2}}
ALIGNED: dict[str, Any] = CTC | {"frame_head": {"type": "aligned", "length_prediction": "classifier"}}
ALIGNED_EOS: dict[str, Any] = CTC | {"frame_head": {"type": "aligned", "length_prediction": "eos"}}
FAMILIES = {"transformer": TRANSFORMER, "bahdanau": BAHDANAU, "sutskever": SUTSKEVER}


def letter_tokenizer(trainer: TokenizerTrainer | None = None) -> Tokenizer:
    return (trainer or CharacterTokenizerTrainer()).train(LETTERS)


def untrained_model(
    model: dict[str, Any],
    seed: int = 1,
    *,
    source: Tokenizer | None = None,
    target: Tokenizer | None = None,
    translate: dict[str, Any] | None = None,
) -> TrainedModel:
    """Return a model with large random weights; its tokens are the letters a to e by default."""
    monolingual = model["encoder"] == "none"
    node: dict[str, Any] = {
        "data": {"max_length": 12, "monolingual": monolingual},
        "text": {"source": "character", "joint": source is None, "target_order": (target or letter_tokenizer()).order},
        "model": model,
        "translate": {"max_length_factor": 1.0, "max_length_extra": 3, **(translate or {})},
    }
    recipe = load_recipe(node)
    target = target or letter_tokenizer()
    source = source or (target if target.order == "forward" else letter_tokenizer())
    torch.manual_seed(seed)
    built = build_model(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint).double().eval()
    with torch.no_grad():
        for weight in built.parameters():
            weight.mul_(3)
    return TrainedModel(built, source, target, recipe, {})


def save_model_folder(folder: Path, trained: TrainedModel) -> Path:
    """Save the model in single precision and return its folder."""
    save_model(folder, trained, {name: weight.float() for name, weight in model_weights(trained.model).items()})
    return folder
