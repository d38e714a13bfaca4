"""From the score of an output to the probability that it is good (logistic calibration, Platt 1999).

    p(good) = sigmoid(a + b s + c log n),    s = log p / n,    b >= 0

s is the mean log-probability of the n tokens, the end mark among them: the surer a model was of its tokens, the higher
the confidence, for outputs of one length. How far such a confidence is off is its expected calibration error (Guo et
al. 2017): outputs are put into bins by their confidence, and

    ECE = sum over bins of (share of the outputs in it) x |mean confidence - share of good ones|
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.metric.counts import Numbers

FEWEST = 20  # lines that say anything
FOLDS = 5
BINS = 10
STEPS = 50  # of Newton's method, which needs a handful
RIDGE = 1e-3  # so that lines which can be told apart perfectly do not make the weights infinite


class Calibration(NamedTuple):
    """The three numbers of the equation."""

    intercept: float
    slope: float
    length: float

    def __call__(self, score: float, tokens: int) -> float | None:
        """The confidence in an output of this log-probability and number of tokens; None if it cannot be at all."""
        if not math.isfinite(score):
            return None
        features = features_of([(score, tokens)])
        return float(sigmoid(features @ np.array(self))[0])


class Bin(NamedTuple):
    """Outputs of about the same confidence."""

    lines: int
    confidence: float  # their mean
    good: float  # the share of them that is good


class Calibrated(NamedTuple):
    """A calibration, with what is known of it: error and bins are of lines that it was not fitted to."""

    calibration: Calibration
    lines: int
    good: float  # the share of them
    error: float
    bins: tuple[Bin, ...]


def calibrate(scored: Sequence[tuple[float, int]], good: Sequence[bool]) -> Calibrated:
    """Fit to outputs, given by log-probability and number of tokens, of which is known whether they are good.

    The error is measured on each of five parts, every fifth line, by what was fitted to the other four.
    """
    kept = [number for number, (score, _) in enumerate(scored) if math.isfinite(score)]
    if len(kept) < FEWEST:
        raise UserError(f"{len(kept)} lines are too few to calibrate by: give at least {FEWEST}, better some hundred")
    features, truth = features_of([scored[number] for number in kept]), np.array([good[n] for n in kept], float)
    held_out = np.empty_like(truth)
    parts = np.arange(len(truth)) % FOLDS
    for part in range(FOLDS):
        fitted = fit(features[parts != part], truth[parts != part])
        held_out[parts == part] = sigmoid(features[parts == part] @ np.array(fitted))
    bins = binned(held_out, truth)
    return Calibrated(fit(features, truth), len(truth), float(truth.mean()), error_of(bins), bins)


def features_of(scored: Sequence[tuple[float, int]]) -> Numbers:
    """[N,3], what the three numbers are multiplied by."""
    return np.array([(1.0, score / tokens, math.log(tokens)) for score, tokens in scored], dtype=np.float64)


def fit(features: Numbers, truth: Numbers) -> Calibration:
    """The likeliest numbers, by Newton's method. Where a higher score would mean less, scores are left out."""
    weights = _newton(features, truth)
    if weights[1] < 0:
        without = _newton(features[:, [0, 2]], truth)
        weights = np.array([without[0], 0.0, without[1]])
    return Calibration(*map(float, weights))


def _newton(features: Numbers, truth: Numbers) -> Numbers:
    """argmax_w sum log p(truth | features w) - RIDGE/2 |w|^2, halving steps that lead down."""
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        said = sigmoid(features @ weights)
        slope = features.T @ (truth - said) - RIDGE * weights
        curvature = (features.T * (said * (1 - said))) @ features + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, slope)
        while _likelihood(features, truth, weights + step) < _likelihood(features, truth, weights) - 1e-12:
            step = step / 2
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _likelihood(features: Numbers, truth: Numbers, weights: Numbers) -> float:
    logits = features @ weights
    return float((truth * logits - np.logaddexp(0, logits)).sum() - RIDGE / 2 * weights @ weights)


def sigmoid(values: Numbers) -> Numbers:
    """1 / (1 + exp(-x)), which never overflows."""
    result: Numbers = np.exp(-np.logaddexp(0, -values))
    return result


def binned(confidence: Numbers, truth: Numbers) -> tuple[Bin, ...]:
    """Ten bins of one width, without the empty ones."""
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    chosen = [places == place for place in range(BINS) if (places == place).any()]
    return tuple(Bin(int(rows.sum()), float(confidence[rows].mean()), float(truth[rows].mean())) for rows in chosen)


def error_of(bins: Sequence[Bin]) -> float:
    """The expected calibration error."""
    lines = sum(one.lines for one in bins)
    return sum(one.lines / lines * abs(one.confidence - one.good) for one in bins)
