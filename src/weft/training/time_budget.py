"""Runs with a time budget: after part of the time the cost per update and per validation is known, the number of
steps is fixed and written into the configuration, so that the run can be resumed or repeated without a clock.

This needs a schedule whose first part (`LearningRateSchedule.open_fraction`) does not depend on the number of steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.training.progress import ProgressDisplay

LENGTH_SETTINGS = ("train.steps", "train.minutes")  # exactly one is set; the steps replace the minutes when known
UNKNOWN_STEPS = 10**9  # the number of steps as long as it is unknown
BUDGET_MARGIN = 0.9  # of the schedule's open part: the time after which the number of steps is fixed
OUTLIER_FACTOR = 1.5  # times the median: slower updates were disturbed by something else


def length_overrides(minutes: float | None, settings: Sequence[str]) -> list[str]:
    """Return overrides for a run of `minutes`; or, if settings set one of steps and minutes, unset the other."""
    if minutes is not None:
        return ["train.steps=null", f"train.minutes={minutes}"]
    values = {place.strip(): value.strip() for place, _, value in (setting.partition("=") for setting in settings)}
    if all(values.get(place, "null") == "null" for place in LENGTH_SETTINGS):
        return []
    return [f"{place}=null" for place in LENGTH_SETTINGS if place not in values]


@dataclass
class TimeSpent:
    """The seconds of a run whose number of steps is unknown: preparation, each update, each validation."""

    preparation: float = 0.0
    updates: list[float] = field(default_factory=list)
    validations: list[float] = field(default_factory=list)

    def total(self) -> float:
        return self.preparation + sum(self.updates) + sum(self.validations)


def can_fix_steps(minutes: float, open_share: float, spent: TimeSpent) -> bool:
    """Return whether enough time was measured to fix the number of steps."""
    return spent.total() >= 60 * minutes * open_share * BUDGET_MARGIN


def steps_in_budget(minutes: float, open_share: float, spent: TimeSpent, validate_every: int) -> int:
    """Return n = done + (t - v) / (u + v / validate_every).

    t: seconds left; u: seconds per update; v: seconds per validation, one of which ends the run. v is the latest: a
    model that has learned little writes long outputs. n is at least what the open part of the schedule permits.
    """
    done = len(spent.updates)
    limit = OUTLIER_FACTOR * median(spent.updates)
    update = fmean(min(seconds, limit) for seconds in spent.updates)
    validation = spent.validations[-1] if spent.validations else 0.0
    left = 60 * minutes - spent.total()
    steps = done + math.floor((left - validation) / (update + validation / validate_every))
    return max(steps, math.ceil(done / open_share))


def warn_about_warmup(recipe: Recipe, display: ProgressDisplay) -> None:
    """Print a warning if the run ends before the warmup does."""
    steps, warmup = recipe.train.steps, to_dict(recipe.train.schedule).get("warmup_steps", 0)
    if steps is not None and warmup > steps:
        display.print(
            f"train.schedule.warmup_steps is {warmup:,}, but the run has {steps:,} steps: the learning rate never "
            f"reaches its peak. Start again with a longer run, or with train.schedule.warmup_steps={steps // 10}"
        )
