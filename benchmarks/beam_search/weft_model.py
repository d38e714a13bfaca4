"""Weft's model with random weights, pre-norm or post-norm, and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from benchmarks.beam_search.job import Shape
from numpy.typing import NDArray

from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.core.seeds import seed_all
from weft.core.special_tokens import BOS, EOS, PAD
from weft.inference.loader import load_translator
from weft.models.build import build_model
from weft.models.model import Model
from weft.nn.layers import NormPlacement
from weft.nn.positional_encoding import SinusoidalPositions
from weft.text.tokenizer import Tokenizer

Weights: TypeAlias = dict[str, NDArray[np.float32]]

MODEL = "model"
SEED = 1
SPECIAL_TOKEN_BIAS = -30.0  # no engine chooses a special token, masked or not


def draw_weights(shape: Shape, tokenizer: Tokenizer) -> Weights:
    """Return random weights of a pre-norm model. No bias is 0, so that a lost bias changes the outputs."""
    model = model_of(shape, tokenizer, "pre")
    seed_all(SEED, "weights")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        if model.head.bias is not None:
            model.head.bias[[PAD, BOS, EOS]] = SPECIAL_TOKEN_BIAS
    return {name: tensor.numpy() for name, tensor in model_weights(model).items()}


def save(folder: Path, shape: Shape, tokenizer: Tokenizer, weights: Weights, norm: NormPlacement) -> None:
    """Save a model folder with these weights; a post-norm model has no final norm."""
    model = model_of(shape, tokenizer, norm)
    tensors = {name: torch.from_numpy(weights[name]) for name in model_weights(model)}
    recipe = load_recipe(recipe_of(shape, norm))
    save_model(folder, TrainedModel(model, tokenizer, tokenizer, recipe, {}), tensors)


def model_of(shape: Shape, tokenizer: Tokenizer, norm: NormPlacement) -> Model:
    recipe = load_recipe(recipe_of(shape, norm))
    seed_all(SEED, "model")
    return build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()


def recipe_of(shape: Shape, norm: NormPlacement) -> dict[str, Any]:
    embedding = {"type": "tokens", "dim": shape.dim, "positions": "sinusoidal"}
    layers = {
        "type": "transformer",
        "layers": shape.layers,
        "heads": shape.heads,
        "ffn_dim": shape.hidden,
        "norm": norm,
    }
    model = {"source": embedding, "encoder": layers, "target": embedding, "decoder": layers, "tie": "all"}
    return {"text": {"source": {"type": "whitespace"}, "joint": True}, "model": model}


def fixed_length_settings(tokens: int, beam: int, n_best: int = 1) -> list[str]:
    """Return settings for beam search with outputs of exactly `tokens` tokens."""
    return [
        f"translate.search={{type: beam, size: {beam}, n_best: {n_best}}}",
        "translate.max_length_factor=1.0e-9",
        f"translate.max_length_extra={tokens}",
        f"translate.min_length_extra={tokens}",
    ]


def positions(shape: Shape, limit: int) -> NDArray[np.float32]:
    """Return the sinusoidal position vectors [limit,D], for engines with another layout."""
    table: NDArray[np.float32] = SinusoidalPositions(shape.dim)(torch.arange(limit)[None])[0].numpy()
    return table


def outputs(folder: Path, rows: Sequence[Sequence[int]], tokens: int, beam: int, *, end: bool) -> list[list[int]]:
    """Return Weft's outputs. end: whether the score of EOS counts when the final hypotheses are compared.

    In Weft it counts; the others truncate at the limit, or count EOS as certain.
    """
    translator = load_translator(folder, device="cpu", overrides=fixed_length_settings(tokens, beam, beam))
    tokenizer = translator.trained.target_tokenizer
    last = None if end else -1
    found = translator.translate(tokenizer.decode(rows), split=False)
    best = [
        max(translation.alternatives, key=lambda alternative: sum(alternative.token_scores[:last]))
        for translation in found
    ]
    return tokenizer.encode(alternative.text for alternative in best)
