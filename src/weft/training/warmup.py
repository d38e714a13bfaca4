"""Is a run long enough for its warm-up?"""

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.training.progress import Display


def tell_warmup(recipe: Recipe, display: Display) -> None:
    """Say that the learning rate never reaches its peak, if that is so; of a run whose length is not known, nothing."""
    steps, schedule = recipe.train.steps, describe(recipe.train.schedule, REGISTRY)
    if steps is not None and schedule.get("warmup", 0) > steps:
        display.say(
            f"train.schedule.warmup is {schedule['warmup']:,} steps, but the run has {steps:,}: the learning rate "
            f"never reaches its peak. Start again with a longer run, or with train.schedule.warmup={steps // 10}"
        )
