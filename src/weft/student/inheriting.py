"""What a student takes over from its teacher: its tokenizers, and the weights that mean the same in both.

Shleifer & Rush 2020, section 3.2: a student that begins with layers of its teacher, and not with weights that are
drawn, needs much less training. A layer is known by its name, so the decoder's one layer is the teacher's first, and
the encoder's layers beyond the teacher's are new.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.config.recipe import Recipe
from weft.core.randomness import set_draws
from weft.model.build import build, parameters
from weft.store.model_folder import Trained, weights_of
from weft.training.initial import settings

SLOTS = ("source", "encoder", "target", "decoder", "head")


class Inherited(NamedTuple):
    """A student to begin with, and how many of its weights are its teacher's."""

    student: Trained
    taken: int
    whole: int


def inherit(recipe: Recipe, teacher: Trained) -> Inherited:
    """A model as the recipe says; where a part is as the teacher's but for its layers, with the weights of those."""
    set_draws(recipe.train.seed, "weights")
    source, target = teacher.source_tokenizer, teacher.target_tokenizer
    model = build(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    alike, found, taken = alike_slots(recipe, teacher.recipe), weights_of(teacher.model), 0
    for name, weight in weights_of(model).items():
        old = found.get(name)
        if old is not None and old.shape == weight.shape and name.partition(".")[0] in alike:
            weight.copy_(old)
            taken += weight.numel()
    return Inherited(Trained(model, source, target, recipe, {}), taken, parameters(model))


def alike_slots(one: Recipe, other: Recipe) -> set[str]:
    """The slots whose settings are the same, but for the number of layers and what no weight depends on."""
    here, there = settings(one), settings(other)
    different = [place for place in {*here, *there} if here.get(place) != there.get(place)]
    return {
        slot
        for slot in SLOTS
        if not any(place.startswith(f"model.{slot}.") and not place.endswith(".layers") for place in different)
    }
