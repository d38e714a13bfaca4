"""Weft's own model, with weights that are drawn, in both places that a layer's norm can have; and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from benchmarks.beams.job import Shape
from numpy.typing import NDArray

from weft.config.load import load_recipe
from weft.core.marks import BEGIN, END, PAD
from weft.core.randomness import set_draws
from weft.engine.load import load_translator
from weft.model.build import build
from weft.model.model import Model
from weft.nn.positions import Sinusoidal
from weft.nn.residual import Norm
from weft.store.model_folder import Trained, save_model, weights_of
from weft.text.tokenizer import Tokenizer

Weights: TypeAlias = dict[str, NDArray[np.float32]]

MODEL = "model"
SEED = 1
NEVER = -30.0  # the bias of a mark: no engine chooses one, nor does it matter whether one is forbidden before a softmax


def draw_weights(shape: Shape, tokenizer: Tokenizer) -> Weights:
    """Those of a model whose layers have their norm before them. No bias is 0, so the loss of one would be seen."""
    model = model_of(shape, tokenizer, "pre")
    set_draws(SEED, "weights")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        if model.head.bias is not None:
            model.head.bias[[PAD, BEGIN, END]] = NEVER
    return {name: tensor.numpy() for name, tensor in weights_of(model).items()}


def save(folder: Path, shape: Shape, tokenizer: Tokenizer, weights: Weights, norm: Norm) -> None:
    """A model folder of these weights; a norm after every layer leaves none for the end of the stack."""
    model = model_of(shape, tokenizer, norm)
    kept = {name: torch.from_numpy(weights[name]) for name in weights_of(model)}
    recipe = load_recipe(recipe_of(shape, norm))
    save_model(folder, Trained(model, tokenizer, tokenizer, recipe, {}), kept)


def model_of(shape: Shape, tokenizer: Tokenizer, norm: Norm) -> Model:
    recipe = load_recipe(recipe_of(shape, norm))
    set_draws(SEED, "model")
    return build(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()


def recipe_of(shape: Shape, norm: Norm) -> dict[str, Any]:
    embedding = {"type": "tokens", "dim": shape.dim, "positions": "sinusoidal"}
    layers = {"type": "transformer", "layers": shape.layers, "heads": shape.heads, "hidden": shape.hidden, "norm": norm}
    model = {"source": embedding, "encoder": layers, "target": embedding, "decoder": layers, "tie": "all"}
    return {"text": {"source": {"type": "whitespace"}, "joint": True}, "model": model}


def forced(tokens: int, beam: int, best: int = 1) -> list[str]:
    """Settings for beam search whose outputs have just so many tokens."""
    return [
        f"translate.search={{type: beam, size: {beam}, best: {best}}}",
        "translate.length_factor=1.0e-9",
        f"translate.length_extra={tokens}",
        f"translate.least_extra={tokens}",
    ]


def positions(shape: Shape, limit: int) -> NDArray[np.float32]:
    """The vectors of the first positions [limit,D], for engines that would take others."""
    table: NDArray[np.float32] = Sinusoidal(shape.dim)(torch.arange(limit)[None])[0].numpy()
    return table


def outputs(folder: Path, rows: Sequence[Sequence[int]], tokens: int, beam: int, *, end: bool) -> list[list[int]]:
    """What Weft says in the same search. end: whether the end mark's score counts among the last hypotheses.

    In Weft it does; the others cut off at the limit, or count it as certain.
    """
    translator = load_translator(folder, device="cpu", overrides=forced(tokens, beam, beam))
    tokenizer = translator.trained.target_tokenizer
    last = None if end else -1
    found = translator.translate(tokenizer.decode(rows))
    best = [max(one.alternatives, key=lambda alternative: sum(alternative.piece_scores[:last])) for one in found]
    return tokenizer.encode(one.text for one in best)
