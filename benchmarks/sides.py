"""A recipe as a side that takes turns at training."""

from __future__ import annotations

from itertools import islice

from weft.config.recipe import Recipe
from weft.core.randomness import set_draws
from weft.data.batches import Batch
from weft.training.loop import Parts
from weft.training.position import Position, stream
from weft.training.precision import settled
from weft.training.prepare import PreparedData
from weft.training.progress import Plain
from weft.training.ranks import ON_CPU
from weft.training.run import make_parts
from weft.training.update import update


class RecipeSide:
    """One recipe's training, an update as `weft train` does it."""

    def __init__(self, recipe: Recipe, prepared: PreparedData):
        self.settings = recipe.train
        self.parts: Parts = make_parts(settled(recipe, ON_CPU, Plain()), prepared, ON_CPU, Plain())
        self.parts.trained.model.train()

    def __call__(self, batch: Batch, step: int) -> float:
        set_draws(self.settings.seed, "step", step)
        parts, rate = self.parts, self.parts.schedule(step)
        sums = update(parts.spread, parts.optimiser, [batch], step=step, rate=rate, clip=self.settings.clip)
        return sums.loss / sums.count

    def perplexity(self) -> float | None:
        """On what was held out, over all words; None if there is nothing."""
        validate = self.parts.validate
        return None if validate is None else float(validate(self.parts.trained)["perplexity"])


def first_batches(side: RecipeSide, count: int) -> list[Batch]:
    """What its training would begin with."""
    return [batch for _, [batch] in islice(stream(side.parts.batches, Position(), 1), count)]
