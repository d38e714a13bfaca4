"""A recipe as a side that takes turns at training."""

from __future__ import annotations

from itertools import islice

from weft.config.recipe import Recipe
from weft.core.seeds import seed_all
from weft.data.batches import Batch
from weft.training.data_preparation import PreparedData
from weft.training.distributed import CPU_RANK
from weft.training.mixed_precision import resolve_precision
from weft.training.progress import PlainDisplay
from weft.training.run_components import TrainingComponents, build_components
from weft.training.train_step import DataCursor, iterate_updates, train_step


class RecipeSide:
    """One recipe's training, an update as `weft train` does it."""

    def __init__(self, recipe: Recipe, prepared: PreparedData):
        self.settings = recipe.train
        self.parts: TrainingComponents = build_components(
            resolve_precision(recipe, CPU_RANK, PlainDisplay()), prepared, CPU_RANK, PlainDisplay()
        )
        self.parts.trained.model.train()

    def __call__(self, batch: Batch, step: int) -> float:
        seed_all(self.settings.seed, "step", step)
        parts, rate = self.parts, self.parts.schedule(step)
        sums = train_step(
            parts.strategy, parts.optimizer, [batch], step=step, learning_rate=rate, clip_norm=self.settings.clip_norm
        )
        return sums.loss / sums.count

    def perplexity(self) -> float | None:
        """On what was held out, over all words; None if there is nothing."""
        validate = self.parts.validator
        return None if validate is None else float(validate(self.parts.trained)["perplexity"])


def first_batches(side: RecipeSide, count: int) -> list[Batch]:
    """What its training would begin with."""
    return [batch for _, [batch] in islice(iterate_updates(side.parts.batches, DataCursor(), 1), count)]
