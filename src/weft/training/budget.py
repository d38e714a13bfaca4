"""A run of so many minutes: the clock is read once, and from then on it is a run of so many steps.

The rates of the first part of a run (`Schedule.open`) do not depend on how long it is. When most of that part of the
time is over, the cost of an update and of a validation is known well, and the number of steps can be fixed. It is
written into the run's configuration in place of the minutes, so that the run can go on, or be repeated, without a
clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean, median

LENGTHS = ("train.steps", "train.minutes")  # one of them is given; of the second, the first comes by itself
ENDLESS = 10**9  # steps: the length of a run for as long as it is not known
MARGIN = 0.9  # of the open part of the time is waited for
SPIKE = 1.5  # times the median: what takes longer was disturbed by something else


@dataclass
class Spent:
    """The seconds of a run whose length is not known yet: before its first step, of each update, of each validation."""

    before: float = 0.0
    updates: list[float] = field(default_factory=list)
    validations: list[float] = field(default_factory=list)

    def total(self) -> float:
        return self.before + sum(self.updates) + sum(self.validations)


def is_time(minutes: float, open_share: float, spent: Spent) -> bool:
    """Can the number of steps be fixed now?"""
    return spent.total() >= 60 * minutes * open_share * MARGIN


def steps_that_fit(minutes: float, open_share: float, spent: Spent, every: int) -> int:
    """n = s + (t - v) / (u + v / every): t seconds left, u those of an update, v of a validation, of which one ends it.

    v is the latest, since a model that has learned little writes long lines. Never so few steps that the schedule
    should have known of it already.
    """
    done = len(spent.updates)
    usual = SPIKE * median(spent.updates)
    update = fmean(min(seconds, usual) for seconds in spent.updates)
    validation = spent.validations[-1] if spent.validations else 0.0
    left = 60 * minutes - spent.total()
    fitting = done + math.floor((left - validation) / (update + validation / every))
    return max(fitting, math.ceil(done / open_share))
