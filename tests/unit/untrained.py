"""Translators that have learned nothing: what happens inside them is as good to look at as any."""

from pathlib import Path
from typing import Any

import torch

from system import toys
from weft.config.load import load_recipe
from weft.engine.translator import Translator
from weft.model.build import build
from weft.search.greedy import Greedy
from weft.search.role import Search
from weft.store.model_folder import Trained
from weft.text.learners import BPE

SENTENCE = "the red cat sees a dog"


def untrained(
    family: str,
    search: Search | None = None,
    *,
    encoder: dict[str, Any] | None = None,
    decoder: dict[str, Any] | None = None,
) -> Translator:
    """A toy model of the family, with some settings of its encoder and decoder changed."""
    node = toys.recipe(Path(), family)
    node["translate"] |= {"length_factor": 0.1, "length_extra": 3}  # small pictures are drawn soon
    changed = {
        slot: {**node["model"][slot], **(new or {})} for slot, new in (("encoder", encoder), ("decoder", decoder))
    }
    node["model"] = {**node["model"], **changed}
    recipe = load_recipe(node)
    tokenizer = BPE(size=300, min_count=1).learn([SENTENCE])
    torch.manual_seed(3)
    model = build(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=recipe.text.joint).eval()
    return Translator(Trained(model, tokenizer, tokenizer, recipe, {}), search or Greedy(), recipe.translate)
