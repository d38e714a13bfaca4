"""Untrained translators for tests of visualization and analysis."""

from pathlib import Path
from typing import Any

import torch

from system import toys
from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import load_recipe
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import Search
from weft.inference.translator import Translator
from weft.models.build import build_model
from weft.text.tokenizer_training import BPETokenizerTrainer

SENTENCE = "the red cat sees a dog"


def untrained_translator(
    family: str,
    search: Search | None = None,
    *,
    encoder: dict[str, Any] | None = None,
    decoder: dict[str, Any] | None = None,
) -> Translator:
    """Return a toy model of the family with changed encoder and decoder settings."""
    node = toys.recipe(Path(), family)
    node["translate"] |= {"max_length_factor": 0.1, "max_length_extra": 3}  # short outputs keep figures small
    changed = {
        slot: {**node["model"][slot], **(new or {})} for slot, new in (("encoder", encoder), ("decoder", decoder))
    }
    node["model"] = {**node["model"], **changed}
    recipe = load_recipe(node)
    tokenizer = BPETokenizerTrainer(vocab_size=300, min_frequency=1).train([SENTENCE])
    torch.manual_seed(3)
    model = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=recipe.text.joint).eval()
    return Translator(TrainedModel(model, tokenizer, tokenizer, recipe, {}), search or GreedySearch(), recipe.translate)
