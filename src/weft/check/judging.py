"""What is wrong with a pair beside all the others: other scripts, other lengths, pairs that came before, leaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.check.survey import Survey
from weft.data.hashes import BLOCK, Hashes, are_frequent, are_in, are_known, came_before
from weft.data.kinds import DUPLICATE, EMPTY, LEAKED_PAIR, LEAKED_SOURCE, LENGTH, RATIO, SCRIPT, TARGETS
from weft.data.scripts import at_home

LONGEST = 10_000  # letters: all lines that are longer count as of this length where quantiles are found
TIMES_LONGER = 8  # than the upper quartile: at least so much is extreme
SPREADS = 3  # and so many times the ratio between the quartiles
SOME_LETTERS = 10  # added to both lengths, so that "Ja." for "Yes, I do." is no extreme ratio
LEAST_RATIO = 4  # away from the median, and so many times the spread of the quartiles
STEPS = 64  # of the histogram of ratios, for each factor of e
MANY = 5  # different targets of a source

Mask = NDArray[np.bool_]


class Held(NamedTuple):
    """What must not be in the training data: hashes of pairs, and of the lines by which they are known."""

    pairs: Hashes
    lines: Hashes


class Limits(NamedTuple):
    """From where on something is extreme in a corpus: the letters of each side, the least and greatest ratio of both
    (target to source, each with `SOME_LETTERS` more), and the numbers of the scripts that are at home on each side.
    """

    lengths: tuple[float, float]
    ratios: tuple[float, float]
    scripts: tuple[frozenset[int], frozenset[int]]


class Judge:
    """Judges the pairs of a survey. one_sided: there is nothing to compare a target with."""

    def __init__(self, survey: Survey, held: Held | None, *, one_sided: bool):
        self._survey = survey
        self._held = held
        self._sides = (1,) if one_sided else (0, 1)

    def judge(self, path: Path) -> NDArray[np.uint32]:
        """[n], all that is wrong with each pair, kept in a new file at `path`."""
        found = self._own(path)
        limits = self._limits(np.ones(len(found), np.bool_))
        for here, records in _blocks(self._survey.records):
            found[here] |= self._extremes(records, limits)
        return found

    def remaining(self, path: Path, dropped: int) -> NDArray[np.uint32]:
        """The same for pairs of which those with problems of the kinds `dropped` will be left out.

        What is extreme among the rest is looked for again, until there is nothing.
        """
        found = self._own(path)
        kept = (found & dropped) == 0
        while True:
            limits, before = self._limits(kept), int(kept.sum())
            for here, records in _blocks(self._survey.records):
                found[here] |= np.where(kept[here], self._extremes(records, limits), 0).astype(np.uint32)
                kept[here] &= (found[here] & dropped) == 0
            if int(kept.sum()) == before:
                return found

    def _own(self, path: Path) -> NDArray[np.uint32]:
        """What does not depend on which other pairs are kept: of equal ones, all have the same problems."""
        records = self._survey.records
        found = np.memmap(path, np.uint32, "w+", shape=len(records))
        found[:] = records["found"]
        repeated = came_before(records["pair"]) & records["whole"]
        _mark(found, repeated, DUPLICATE)
        comparable = np.concatenate([_comparable(block) for _, block in _blocks(records)])
        if len(self._sides) == 2:
            _mark(found, are_frequent(records["line"], comparable & ~repeated, MANY), TARGETS)
        if self._held is not None:
            _mark(found, comparable & are_in(records["pair"], self._held.pairs), LEAKED_PAIR)
            _mark(found, comparable & are_in(records["line"], self._held.lines), LEAKED_SOURCE)
        return found

    def _limits(self, kept: Mask) -> Limits:
        """From those that are kept and have no empty side."""
        lengths = np.zeros((2, LONGEST + 1), np.int64)
        ratios = np.zeros(2 * 16 * STEPS, np.int64)
        scripts = np.zeros((2, 256), np.int64)
        for here, records in _blocks(self._survey.records):
            records = records[kept[here] & _comparable(records)]
            for side in (0, 1):
                lengths[side] += np.bincount(records["lengths"][:, side].clip(max=LONGEST), minlength=LONGEST + 1)
                scripts[side] += np.bincount(records["scripts"][:, side], minlength=256)
            places = np.round(STEPS * (_ratios(records) + 16)).astype(np.int64).clip(0, len(ratios) - 1)
            ratios += np.bincount(places, minlength=len(ratios))
        return Limits(
            (_longest(lengths[0]), _longest(lengths[1])),
            _ratio_limits(ratios),
            (self._home(scripts[0]), self._home(scripts[1])),
        )

    def _home(self, lines: NDArray[np.int64]) -> frozenset[int]:
        names = self._survey.scripts
        home = at_home({name: int(lines[number]) for number, name in enumerate(names[:256])})
        return frozenset({0, *(number for number, name in enumerate(names) if name in home)})

    def _extremes(self, records: NDArray[Any], limits: Limits) -> NDArray[np.uint32]:
        """[n], of a block."""
        found = np.zeros(len(records), np.uint32)
        for side in self._sides:
            _mark(found, records["lengths"][:, side] > limits.lengths[side], LENGTH)
            _mark(found, ~np.isin(records["scripts"][:, side], list(limits.scripts[side])), SCRIPT)
        if len(self._sides) == 2:
            ratios = _ratios(records)
            _mark(found, (ratios < limits.ratios[0]) | (ratios > limits.ratios[1]), RATIO)
        return np.where(_comparable(records), found, 0).astype(np.uint32)


def mark_leaks(found: NDArray[np.uint32], survey: Survey, train: Survey) -> None:
    """Tell of the pairs of a small corpus which are in the training data, or the lines by which they are known."""
    comparable = _comparable(survey.records)
    for column, kind in (("pair", LEAKED_PAIR), ("line", LEAKED_SOURCE)):
        _mark(found, comparable & are_known(survey.records[column], train.records[column]), kind)


def held_in(surveys: Sequence[Survey]) -> Held:
    """What these corpora hold."""
    records = [survey.records[_comparable(survey.records)] for survey in surveys]
    return Held(*(np.concatenate([each[column] for each in records]) for column in ("pair", "line")))


def _comparable(records: NDArray[Any]) -> Mask:
    """[n], which of them have a pair without an empty side."""
    mask: Mask = records["whole"] & ((records["found"] & EMPTY) == 0)
    return mask


def _mark(found: NDArray[np.uint32], where: Mask, kind: int) -> None:
    found[where] |= np.uint32(kind)


def _blocks(records: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    for start in range(0, len(records), BLOCK):
        here = slice(start, start + BLOCK)
        yield here, records[here]


def _ratios(records: NDArray[Any]) -> NDArray[np.float64]:
    """[n], log of target length to source length."""
    logs = np.log(records["lengths"].astype(np.float64) + SOME_LETTERS)
    ratios: NDArray[np.float64] = logs[:, 1] - logs[:, 0]
    return ratios


def _longest(counts: NDArray[np.int64]) -> float:
    """The limit of a side: q3 x max(8, (q3 / q1)^3)."""
    lower, _, upper = np.maximum(1, _quartiles(counts))
    return float(upper * max(TIMES_LONGER, (upper / lower) ** SPREADS))


def _ratio_limits(counts: NDArray[np.int64]) -> tuple[float, float]:
    """The limits of the logarithm: median -+ max(log 4, 4 (q3 - q1))."""
    lower, median, upper = _quartiles(counts) / STEPS - 16
    away = max(float(np.log(LEAST_RATIO)), LEAST_RATIO * (upper - lower))
    return float(median - away), float(median + away)


def _quartiles(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first values below or at which a quarter, half and three quarters of what was counted are."""
    sums = np.cumsum(counts)
    quartiles: NDArray[np.int64] = np.searchsorted(sums, np.array([0.25, 0.5, 0.75]) * sums[-1])
    return quartiles
