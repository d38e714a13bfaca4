"""How good and how fast each system is, on the same lines, in turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from weft.metric.evaluate import evaluate_with_intervals
from weft.metric.lines import Lines
from weft.metric.score import Score
from weft.student.systems import System

ROUNDS = 5
WARM_UP = 32  # lines


class Measured(NamedTuple):
    """A system on so many lines. seconds: of each round."""

    system: System
    lines: int
    tokens: int
    seconds: list[float]
    scores: list[Score]

    @property
    def lines_a_second(self) -> float:
        return self.lines / median(self.seconds)

    @property
    def tokens_a_second(self) -> float:
        return self.tokens / median(self.seconds)


def measure(
    systems: Sequence[System], pairs: Sequence[tuple[str, str]], metrics: Sequence[str], rounds: int = ROUNDS
) -> list[Measured]:
    """Every system translates all lines in each round, so that a busy machine slows all of them."""
    sources, references = [source for source, _ in pairs], [[target] for _, target in pairs]
    outputs: list[list[str]] = [[] for _ in systems]
    seconds: list[list[float]] = [[] for _ in systems]
    for system in systems:
        system.translate(sources[:WARM_UP])
    for number in range(rounds):
        for place in range(len(systems))[:: 1 if number % 2 == 0 else -1]:
            began = time.perf_counter()
            outputs[place] = systems[place].translate(sources)
            seconds[place].append(time.perf_counter() - began)
    return [
        Measured(
            system,
            len(sources),
            system.count(made),
            times,
            evaluate_with_intervals(Lines(made, references, sources), metrics),
        )
        for system, made, times in zip(systems, outputs, seconds, strict=True)
    ]


def ratios(one: Measured, other: Measured) -> list[float]:
    """How many times as fast as the other it was, round by round: both count lines, since these are the same."""
    return [theirs / ours for ours, theirs in zip(one.seconds, other.seconds, strict=True)]
