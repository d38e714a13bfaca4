"""A gradient that explodes: far longer than what is let through, or than it used to be."""

from __future__ import annotations

from statistics import median

from weft.config.recipe import Train
from weft.store.run_log import History
from weft.training.diagnosis.finding import Finding
from weft.training.diagnosis.rate import REPORTS, advice

CLIPPED = 50  # times train.clip: ordinary runs begin at a few times of it, and soon are below
LONGER = 100  # times the median, where nothing is clipped
BEFORE = 3  # reports, for a median


def exploding_gradient(history: History, settings: Train) -> Finding | None:
    """Is the mean norm of the gradient out of all proportion? Pascanu, Mikolov & Bengio 2013.

    Where gradients are clipped, a few long ones do no harm: they must be so in several reports in a row. Where they are
    not, one report is enough.
    """
    norms = [report["norm"] for report in history.reports]
    if settings.clip is not None:
        if len(norms) < REPORTS or min(norms[-REPORTS:]) <= CLIPPED * settings.clip:
            return None
        what = (
            f"the gradient is {norms[-1] / settings.clip:,.0f} times as long as train.clip lets through, all the time"
        )
    else:
        if len(norms) <= BEFORE or norms[-1] <= LONGER * (usual := median(norms[:-1])):
            return None
        what = f"the gradient has a norm of {norms[-1]:,.0f}, and had {usual:.2g} before"
    cause = "the gradient explodes: the learning rate is too high, weights are too large, or some pairs are no pairs"
    larger = "" if settings.clip is None else "; if the loss falls nevertheless, a larger train.clip"
    return Finding("exploding-gradient", what, cause, advice(settings) + larger)
