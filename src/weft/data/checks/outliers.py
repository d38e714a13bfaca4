"""Problems that need the whole corpus: outliers in length, length ratio and script, duplicates, and leaks between
training, validation and test data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.data.checks.pair_features import MAX_SCRIPTS, PairFeatures
from weft.data.checks.problem_kinds import Problem
from weft.data.hashes import HashArray, blocks, frequent_mask, known_mask, membership_mask, repeated_mask
from weft.data.unicode_scripts import expected_scripts

MAX_LENGTH = 10_000  # characters: longer lines count as this long in quantiles
MIN_LENGTH_FACTOR = 8
LENGTH_SPREAD_POWER = 3
LENGTH_OFFSET = 10  # added to both lengths, so that "Ja." for "Yes, I do." is not an extreme ratio
RATIO_FACTOR = 4
RATIO_BINS = 64  # of the histogram of log ratios, per unit
MAX_LOG_RATIO = 16
MIN_TARGET_VARIANTS = 5
LEAKS = {"pair": Problem.LEAKED_PAIR, "line": Problem.LEAKED_SOURCE}  # what it means that a hash is in other data

BoolArray = NDArray[np.bool_]
ProblemArray = NDArray[np.uint32]
HeldOutHashes = Mapping[str, HashArray]  # of validation and test data, by the keys of LEAKS


class OutlierLimits(NamedTuple):
    """lengths: upper limit of each side. ratios: limits of the log ratio. scripts: expected indices of each side."""

    lengths: tuple[float, float]
    ratios: tuple[float, float]
    scripts: tuple[frozenset[int], frozenset[int]]


class ProblemDetector:
    """Finds the problems of all pairs of a corpus. target_only: the source is empty or an image."""

    def __init__(self, features: PairFeatures, held_out: HeldOutHashes | None, *, target_only: bool):
        self._features = features
        self._held_out = held_out
        self._sides = (1,) if target_only else (0, 1)

    def detect(self, path: Path, dropped: int = 0) -> ProblemArray:
        """Return the bits of the problems of each pair [n], stored in a new file at `path`.

        dropped: bits of the kinds of problems whose pairs are removed. Removing pairs changes the limits of outliers,
        so they are computed until nothing more is removed.
        """
        problems = self._fixed_problems(path)
        is_kept = (problems & dropped) == 0
        while True:
            limits, before = self._limits(is_kept), int(is_kept.sum())
            for here, records in blocks(self._features.records):
                problems[here] |= np.where(is_kept[here], self._outliers(records, limits), 0).astype(np.uint32)
                is_kept[here] &= (problems[here] & dropped) == 0
            if int(is_kept.sum()) == before:
                return problems

    def _fixed_problems(self, path: Path) -> ProblemArray:
        """Return the problems that do not depend on which other pairs are removed."""
        records = self._features.records
        problems = np.memmap(path, np.uint32, "w+", shape=len(records))
        problems[:] = records["problems"]
        is_repeated = repeated_mask(records["pair"]) & records["has_pair"]
        _set_bit(problems, is_repeated, Problem.DUPLICATE)
        is_complete = np.concatenate([_complete_pairs(block) for _, block in blocks(records)])
        if len(self._sides) == 2:
            is_counted = is_complete & ~is_repeated
            _set_bit(problems, frequent_mask(records["line"], is_counted, MIN_TARGET_VARIANTS), Problem.MANY_TARGETS)
        if self._held_out is not None:
            for column, hashes in self._held_out.items():
                _set_bit(problems, is_complete & membership_mask(records[column], hashes), LEAKS[column])
        return problems

    def _limits(self, is_kept: BoolArray) -> OutlierLimits:
        """Compute limits from the pairs that are kept and have no empty side.

        Lengths: q3 x max(8, (q3 / q1)^3). Log ratios: median -+ max(log 4, 4 (q3 - q1)).
        """
        lengths = np.zeros((2, MAX_LENGTH + 1), np.int64)
        ratios = np.zeros(2 * MAX_LOG_RATIO * RATIO_BINS, np.int64)
        scripts = np.zeros((2, MAX_SCRIPTS), np.int64)
        for here, block in blocks(self._features.records):
            records = block[is_kept[here] & _complete_pairs(block)]
            for side in (0, 1):
                clipped = records["lengths"][:, side].clip(max=MAX_LENGTH)
                lengths[side] += np.bincount(clipped, minlength=MAX_LENGTH + 1)
                scripts[side] += np.bincount(records["scripts"][:, side], minlength=MAX_SCRIPTS)
            bins = np.round(RATIO_BINS * (_log_ratios(records) + MAX_LOG_RATIO)).astype(np.int64)
            ratios += np.bincount(bins.clip(0, len(ratios) - 1), minlength=len(ratios))
        lower, median, upper = _quartiles(ratios) / RATIO_BINS - MAX_LOG_RATIO
        spread = max(float(np.log(RATIO_FACTOR)), RATIO_FACTOR * (upper - lower))
        return OutlierLimits(
            (_length_limit(lengths[0]), _length_limit(lengths[1])),
            (float(median - spread), float(median + spread)),
            (self._expected_scripts(scripts[0]), self._expected_scripts(scripts[1])),
        )

    def _expected_scripts(self, counts: NDArray[np.int64]) -> frozenset[int]:
        names = self._features.scripts
        expected = expected_scripts({name: int(counts[index]) for index, name in enumerate(names[:MAX_SCRIPTS])})
        return frozenset({0, *(index for index, name in enumerate(names) if name in expected)})

    def _outliers(self, records: NDArray[Any], limits: OutlierLimits) -> ProblemArray:
        problems = np.zeros(len(records), np.uint32)
        for side in self._sides:
            _set_bit(problems, records["lengths"][:, side] > limits.lengths[side], Problem.EXTREME_LENGTH)
            is_expected = np.isin(records["scripts"][:, side], list(limits.scripts[side]))
            _set_bit(problems, ~is_expected, Problem.UNEXPECTED_SCRIPT)
        if len(self._sides) == 2:
            ratios = _log_ratios(records)
            _set_bit(problems, (ratios < limits.ratios[0]) | (ratios > limits.ratios[1]), Problem.EXTREME_RATIO)
        return np.where(_complete_pairs(records), problems, 0).astype(np.uint32)


def mark_leaks(problems: ProblemArray, features: PairFeatures, train: PairFeatures) -> None:
    """Mark the pairs of a small corpus that are in the training data, and those whose line is."""
    is_complete = _complete_pairs(features.records)
    for column, bit in LEAKS.items():
        _set_bit(problems, is_complete & known_mask(features.records[column], train.records[column]), bit)


def hash_held_out(corpora: Sequence[PairFeatures]) -> HeldOutHashes:
    records = [features.records[_complete_pairs(features.records)] for features in corpora]
    return {column: np.concatenate([each[column] for each in records]) for column in LEAKS}


def _complete_pairs(records: NDArray[Any]) -> BoolArray:
    """Return which rows have a pair without an empty side [n]."""
    mask: BoolArray = records["has_pair"] & ((records["problems"] & Problem.EMPTY_SIDE) == 0)
    return mask


def _set_bit(problems: ProblemArray, where: BoolArray, bit: int) -> None:
    problems[where] |= np.uint32(bit)


def _log_ratios(records: NDArray[Any]) -> NDArray[np.float64]:
    """Return the logarithms of target length to source length [n]."""
    logs = np.log(records["lengths"].astype(np.float64) + LENGTH_OFFSET)
    ratios: NDArray[np.float64] = logs[:, 1] - logs[:, 0]
    return ratios


def _length_limit(counts: NDArray[np.int64]) -> float:
    lower, _, upper = np.maximum(1, _quartiles(counts))
    return float(upper * max(MIN_LENGTH_FACTOR, (upper / lower) ** LENGTH_SPREAD_POWER))


def _quartiles(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest values at or below which a quarter, half and three quarters of a histogram are."""
    sums = np.cumsum(counts)
    quartiles: NDArray[np.int64] = np.searchsorted(sums, np.array([0.25, 0.5, 0.75]) * sums[-1])
    return quartiles
