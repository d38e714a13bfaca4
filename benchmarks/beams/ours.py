"""Weft's own model, with weights that are drawn, in both places that a layer's norm can have; and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from benchmarks.beams.job import Shape
from numpy.typing import NDArray

from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.core.codec import BOS, EOS, PAD
from weft.core.seeds import seed_all
from weft.inference.loader import load_translator
from weft.models.build import build_model
from weft.models.model import Model
from weft.nn.layers import NormPlacement
from weft.nn.positional_encoding import SinusoidalPositions
from weft.text.tokenizer import Tokenizer

Weights: TypeAlias = dict[str, NDArray[np.float32]]

MODEL = "model"
SEED = 1
NEVER = -30.0  # the bias of a mark: no engine chooses one, nor does it matter whether one is forbidden before a softmax


def draw_weights(shape: Shape, tokenizer: Tokenizer) -> Weights:
    """Those of a model whose layers have their norm before them. No bias is 0, so the loss of one would be seen."""
    model = model_of(shape, tokenizer, "pre")
    seed_all(SEED, "weights")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        if model.head.bias is not None:
            model.head.bias[[PAD, BOS, EOS]] = NEVER
    return {name: tensor.numpy() for name, tensor in model_weights(model).items()}


def save(folder: Path, shape: Shape, tokenizer: Tokenizer, weights: Weights, norm: NormPlacement) -> None:
    """A model folder of these weights; a norm after every layer leaves none for the end of the stack."""
    model = model_of(shape, tokenizer, norm)
    kept = {name: torch.from_numpy(weights[name]) for name in model_weights(model)}
    recipe = load_recipe(recipe_of(shape, norm))
    save_model(folder, TrainedModel(model, tokenizer, tokenizer, recipe, {}), kept)


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


def forced(tokens: int, beam: int, n_best: int = 1) -> list[str]:
    """Settings for beam search whose outputs have just so many tokens."""
    return [
        f"translate.search={{type: beam, size: {beam}, n_best: {n_best}}}",
        "translate.max_length_factor=1.0e-9",
        f"translate.max_length_extra={tokens}",
        f"translate.min_length_extra={tokens}",
    ]


def positions(shape: Shape, limit: int) -> NDArray[np.float32]:
    """The vectors of the first positions [limit,D], for engines that would take others."""
    table: NDArray[np.float32] = SinusoidalPositions(shape.dim)(torch.arange(limit)[None])[0].numpy()
    return table


def outputs(folder: Path, rows: Sequence[Sequence[int]], tokens: int, beam: int, *, end: bool) -> list[list[int]]:
    """What Weft says in the same search. end: whether the end mark's score counts among the last hypotheses.

    In Weft it does; the others cut off at the limit, or count it as certain.
    """
    translator = load_translator(folder, device="cpu", overrides=forced(tokens, beam, beam))
    tokenizer = translator.trained.target_tokenizer
    last = None if end else -1
    found = translator.translate(tokenizer.decode(rows))
    best = [max(one.alternatives, key=lambda alternative: sum(alternative.token_scores[:last])) for one in found]
    return tokenizer.encode(one.text for one in best)
