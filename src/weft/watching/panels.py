"""What is drawn of runs: a panel for each thing that is measured, and in it the curves of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.store.run_log import Points, Record, points
from weft.watching.run import Watched

TITLES = {"rate": "learning rate", "norm": "gradient norm", "tokens_per_second": "tokens per second"}
TRAINING = ("rate", "norm", "tokens_per_second")  # what is drawn beside the loss
OF_TOKENS = ("accuracy", "perplexity")  # tell less than what is measured of whole outputs
LOGARITHMIC = ("norm", "perplexity")  # where the values are far apart
FROM_ZERO = ("tokens_per_second",)


class Curve(NamedTuple):
    """What was measured of a run. run: its place among the others."""

    run: int
    points: Points
    validation: bool = False


class Panel(NamedTuple):
    """Curves over each other."""

    name: str
    curves: list[Curve]

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name)

    @property
    def is_mixed(self) -> bool:
        """Are there curves of training and of validation?"""
        return len({curve.validation for curve in self.curves}) == 2


def panels_of(runs: Sequence[Watched]) -> list[Panel]:
    """The loss, what decides, then what else there is; without those of which nothing is known yet."""
    first, *others = scores_of(runs) or [""]
    found = [loss(runs), validated(runs, first), *(trained(runs, name) for name in TRAINING)]
    found += [validated(runs, name) for name in others]
    return [panel for panel in found if panel.curves]


def loss(runs: Sequence[Watched]) -> Panel:
    return Panel("loss", [*trained(runs, "loss").curves, *validated(runs, "loss").curves])


def trained(runs: Sequence[Watched], name: str) -> Panel:
    curves = [Curve(number, points(run.history.reports, name)) for number, run in enumerate(runs)]
    return Panel(name, [curve for curve in curves if curve.points])


def validated(runs: Sequence[Watched], name: str) -> Panel:
    curves = [Curve(number, points(run.history.validations, name), True) for number, run in enumerate(runs)]
    return Panel(name, [curve for curve in curves if curve.points])


def scores_of(runs: Sequence[Watched]) -> list[str]:
    """The names of what validation measures beside the loss, what decides in a run first."""
    chosen = [run.plan.choose for run in runs if run.plan]
    told = [name for run in runs for record in run.history.validations[-1:] for name in numbers(record)]
    told.sort(key=lambda name: name in OF_TOKENS)
    return [name for name in dict.fromkeys([*chosen, *told]) if name != "loss"]


def numbers(record: Record) -> list[str]:
    return [name for name, value in record.items() if isinstance(value, float)]
