"""Bootstrap confidence intervals (Koehn 2004) and approximate randomization (Riezler & Maxwell 2005), from
sufficient statistics, so for every metric. With the same seed the samples are those of sacrebleu.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.metrics.scores import ConfidenceInterval, FloatArray, SufficientStatistics

SignificanceTest: TypeAlias = Literal["bootstrap", "randomization"]

BOOTSTRAP_SAMPLES = 1000
RANDOMIZATION_TRIALS = 10_000
RESAMPLING_SEED = 12345  # sacrebleu's
SIGNIFICANCE_LEVEL = 0.05
TIE_TOLERANCE = 1e-9  # scores are floating-point sums: smaller differences count as equal
BLOCK_DRAWS = 10_000_000  # draws in memory at a time


class BootstrapScores(NamedTuple):
    """The score of the lines, and of N samples of as many lines, drawn with replacement."""

    score: float
    samples: FloatArray  # [N]

    def interval(self) -> ConfidenceInterval:
        """Return the interval that contains 95 % of the samples (Koehn 2004, section 3)."""
        ordered = np.sort(self.samples)
        outside = len(ordered) // 40
        return ConfidenceInterval(float(ordered[outside]), float(ordered[len(ordered) - outside - 1]))


def bootstrap(statistics: SufficientStatistics, samples: int, seed: int) -> BootstrapScores:
    """Score bootstrap samples. Equal numbers of lines and equal seeds draw the same lines for all systems and
    metrics."""
    rng = np.random.default_rng(seed)
    lines = len(statistics.rows)
    sums = (np.bincount(rng.integers(lines, size=lines), minlength=lines) @ statistics.rows for _ in range(samples))
    return BootstrapScores(statistics.score(), np.array([statistics.compute(total) for total in sums]))


def paired_bootstrap_p(first: BootstrapScores, other: BootstrapScores) -> float:
    """Return p of the difference between two systems on the same samples (Koehn 2004), as sacrebleu computes it.

    The distribution of |difference| is shifted to where it would be if the systems did not differ.
    """
    differences = np.abs(other.samples - first.samples)
    return _p_value(differences - differences.mean(), abs(other.score - first.score))


def approximate_randomization_p(
    first: SufficientStatistics, other: SufficientStatistics, trials: int, seed: int
) -> float:
    """Return p of the difference between two systems: how often it is as large after swapping outputs at random.

    Riezler & Maxwell 2005, figure 1: two-sided, each line is swapped with probability 1/2.
    """
    differences = [
        abs(
            first.compute(stays @ first.rows + ~stays @ other.rows)
            - first.compute(~stays @ first.rows + stays @ other.rows)
        )
        for stays in _random_masks(len(first.rows), trials, seed)
    ]
    return _p_value(np.array(differences), abs(other.score() - first.score()))


def _random_masks(lines: int, trials: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield a random mask [L] for each trial."""
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK_DRAWS // lines)
    for start in range(0, trials, block):
        yield from rng.integers(2, size=(min(block, trials - start), lines), dtype=bool)


def _p_value(by_chance: FloatArray, difference: float) -> float:
    """(c + 1) / (N + 1), where c of N differences by chance are at least as large."""
    return (int(np.sum(by_chance >= difference - TIE_TOLERANCE)) + 1) / (len(by_chance) + 1)
