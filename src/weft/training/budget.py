"""A run of so many minutes: the clock is read once, and from then on it is a run of so many steps.

The rates of the first part of a run (`Schedule.open`) do not depend on how long it is. When most of that part of the
time is over, the cost of an update and of a validation is known well, and the number of steps can be fixed. It is
written into the run's configuration in place of the minutes, so that the run can go on, or be repeated, without a
clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ENDLESS = 10**9  # steps: the length of a run for as long as it is not known
MARGIN = 0.75  # of the open part of the time is waited for


@dataclass(frozen=True)
class Spent:
    """What a run has done so far. paused: the seconds of them that went into validating and saving."""

    steps: int
    seconds: float
    paused: float
    before: float  # seconds before the first step: reading data


def is_time(minutes: float, open_share: float, spent: Spent) -> bool:
    """Can the number of steps be fixed now?"""
    return spent.before + spent.seconds >= 60 * minutes * open_share * MARGIN


def steps_that_fit(minutes: float, open_share: float, spent: Spent, every: int) -> int:
    """n = s + (t - v) / (u + v / every): t seconds left, u those of an update, v of a validation, of which one ends it.

    Never so few that the schedule should have known of it already.
    """
    update = (spent.seconds - spent.paused) / spent.steps
    validation = spent.paused / max(1, spent.steps // every)
    left = 60 * minutes - spent.before - spent.seconds
    fitting = spent.steps + math.floor((left - validation) / (update + validation / every))
    return max(fitting, math.ceil(spent.steps / open_share))
