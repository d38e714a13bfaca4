"""How far a run has come."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from weft.core.numbers import spoken_minutes
from weft.report.run.known import Known
from weft.store.run_end import Best, End, best_of, end_of
from weft.store.run_log import points

Course: TypeAlias = End | Literal["unfinished", "not begun"]


class Outcome(NamedTuple):
    """end: what ended the run, if anything has. step, seconds: of the last report. wanted: how long it is to be."""

    end: Course
    step: int
    seconds: float
    wanted: str
    best: Best | None

    def told(self) -> str:
        match self.end:
            case "finished":
                return f"finished after {self.step:,} steps"
            case "patience":
                return f"ended at step {self.step:,}, when validation no longer improved"
            case "broken":
                return f"stopped at step {self.step:,}, where numbers were no longer finite"
            case "unfinished":
                return f"at step {self.step:,} of {self.wanted}"
            case "not begun":
                return f"before the first report of {self.wanted}"


def outcome_of(known: Known) -> Outcome:
    """By what the log says: whether the run is going on at this moment, nothing is asked that could disturb it."""
    history, settings = known.history, known.recipe.train
    choose, patience = settings.validation.choose, settings.validation.patience
    reported = points(history.reports, "seconds")
    step = max((one["step"] for one in (*history.reports, *history.validations)), default=0)
    begun: Course = "unfinished" if step else "not begun"
    return Outcome(
        end_of(history, settings.steps, choose, patience) or begun,
        step,
        reported[-1][1] if reported else 0.0,
        wanted_of(known),
        best_of(history.validations, choose),
    )


def wanted_of(known: Known) -> str:
    """How long the run is to be."""
    settings = known.recipe.train
    return f"a run of {spoken_minutes(settings.minutes or 0)}" if settings.steps is None else f"{settings.steps:,}"
