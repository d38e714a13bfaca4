"""How sure a score is, and whether a difference between two systems is more than chance.

All rests on what a metric counted in each line (counts.py), so that it holds for every metric. With the same seed, the
samples are those that sacrebleu draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.metric.counts import Counts, Numbers
from weft.metric.score import Interval

Test: TypeAlias = Literal["bootstrap", "randomisation"]

SAMPLES = 1000
TRIALS = 10_000
SEED = 12345  # sacrebleu's
TIE = 1e-9  # scores are sums in floating point: what is nearer than this is equal
BLOCK = 10_000_000  # choices that are held in memory at a time


class Resampled(NamedTuple):
    """The score of the lines, and of each of N samples of as many of them, drawn with replacement."""

    score: float
    samples: Numbers  # [N]

    def interval(self) -> Interval:
        """What 95 % of the samples lie between (Koehn 2004, section 3)."""
        ordered = np.sort(self.samples)
        outside = len(ordered) // 40
        return Interval(float(ordered[outside]), float(ordered[len(ordered) - outside - 1]))


def resample(counts: Counts, samples: int, seed: int) -> Resampled:
    """The bootstrap. Equal numbers of lines and equal seeds draw the same lines, whatever the system or the metric."""
    draws = np.random.default_rng(seed)
    lines = len(counts.rows)
    totals = (np.bincount(draws.integers(lines, size=lines), minlength=lines) @ counts.rows for _ in range(samples))
    return Resampled(counts.score(), np.array([counts.value(total) for total in totals]))


def paired_bootstrap(first: Resampled, other: Resampled) -> float:
    """p of the difference between two systems on the same samples (Koehn 2004), as sacrebleu has it.

    The distribution of |difference| is shifted to where it would be if the systems did not differ.
    """
    differences = np.abs(other.samples - first.samples)
    return _p(differences - differences.mean(), abs(other.score - first.score))


def approximate_randomisation(first: Counts, other: Counts, trials: int, seed: int) -> float:
    """p of the difference between two systems: how often it is as large if outputs change sides at random.

    Riezler & Maxwell 2005, figure 1: two-sided, each line changes sides with probability 1/2.
    """
    differences = [
        abs(first.value(kept @ first.rows + ~kept @ other.rows) - first.value(~kept @ first.rows + kept @ other.rows))
        for kept in _sides(len(first.rows), trials, seed)
    ]
    return _p(np.array(differences), abs(other.score() - first.score()))


def _sides(lines: int, trials: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """For each trial which lines stay: [L]."""
    draws = np.random.default_rng(seed)
    block = max(1, BLOCK // lines)
    for start in range(0, trials, block):
        yield from draws.integers(2, size=(min(block, trials - start), lines), dtype=bool)


def _p(by_chance: Numbers, difference: float) -> float:
    """(c + 1) / (N + 1), c of N being at least as large. Equal counts, so that a system does not differ from itself."""
    return (int(np.sum(by_chance >= difference - TIE)) + 1) / (len(by_chance) + 1)
