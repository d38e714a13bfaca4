"""All diagnoses that look at a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.config.recipe import Train
from weft.store.run_log import History
from weft.training.diagnosis.drift import drifting
from weft.training.diagnosis.finding import Finding
from weft.training.diagnosis.gradient import exploding_gradient
from weft.training.diagnosis.outputs import copying, repeating
from weft.training.diagnosis.rate import rate_too_high

DIAGNOSES: tuple[Callable[[History, Train], Finding | None], ...] = (
    rate_too_high,
    exploding_gradient,
    drifting,
    repeating,
    copying,
)


def findings(history: History, settings: Train) -> Iterator[Finding]:
    """What is found now and was not told before."""
    for diagnose in DIAGNOSES:
        found = diagnose(history, settings)
        if found is not None and found.diagnosis not in history.told:
            yield found
