"""What was best in a run, and whether it has ended, by its log; of one that was stopped or killed, no log can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from weft.metric.better import better
from weft.store.run_log import History, Record, points

End: TypeAlias = Literal["finished", "patience", "broken"]


class Best(NamedTuple):
    """The validation that chose the best model: what it chose by, the step, the value."""

    name: str
    step: int
    value: float


def best_of(validations: Sequence[Record], choose: str) -> Best | None:
    """The first of those that were the best."""
    found: Best | None = None
    for step, value in points(validations, choose):
        if better(choose, value, None if found is None else found.value):
            found = Best(choose, step, value)
    return found


def end_of(history: History, steps: int | None, choose: str, patience: int | None) -> End | None:
    """finished: all steps were made and validated. patience: there was none left. broken: a number was not finite."""
    if "not-finite" in history.told:
        return "broken"
    if any(one["step"] == steps for one in history.validations):
        return "finished"
    best = best_of(history.validations, choose)
    since = sum(one["step"] > best.step for one in history.validations) if best else 0
    return "patience" if patience is not None and since >= patience else None
