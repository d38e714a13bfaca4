"""Confidence from log-probability by logistic calibration (Platt 1999), and the expected calibration error (Guo et
al. 2017): p(good) = sigmoid(a + b s + c log n), with s = log p / n for n tokens, and b >= 0.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.metrics.scores import FloatArray

MIN_LINES = 20
FOLDS = 5
BINS = 10
NEWTON_STEPS = 50  # a handful is enough
RIDGE = 1e-3  # keeps the weights finite if the lines are perfectly separable


class Calibration(NamedTuple):
    """The coefficients a, b and c of the equation."""

    intercept: float
    slope: float
    length: float

    def __call__(self, score: float, tokens: int) -> float | None:
        """Return the confidence in an output of this log-probability; None if its probability is zero."""
        if not math.isfinite(score):
            return None
        return float(sigmoid(calibration_features([(score, tokens)]) @ np.array(self))[0])


class CalibrationBin(NamedTuple):
    """Outputs of similar confidence."""

    lines: int
    confidence: float  # their mean
    good: float  # the fraction that is good


class CalibrationResult(NamedTuple):
    """A calibration with its quality; error and bins are cross-validated."""

    calibration: Calibration
    lines: int
    good: float  # the fraction of good lines
    error: float
    bins: tuple[CalibrationBin, ...]


def fit_calibration(scored: Sequence[tuple[float, int]], good: Sequence[bool]) -> CalibrationResult:
    """Fit a calibration to the log-probability and number of tokens of outputs, and whether they are good.

    The error is measured by cross-validation: on every fifth line, after fitting to the others.
    """
    usable = [number for number, (score, _) in enumerate(scored) if math.isfinite(score)]
    if len(usable) < MIN_LINES:
        raise UserError(
            f"{len(usable)} lines are too few for calibration: at least {MIN_LINES} are needed, better some hundreds"
        )
    features = calibration_features([scored[number] for number in usable])
    truth = np.array([good[number] for number in usable], float)
    predicted = np.empty_like(truth)
    folds = np.arange(len(truth)) % FOLDS
    for fold in range(FOLDS):
        fitted = fit_logistic(features[folds != fold], truth[folds != fold])
        predicted[folds == fold] = sigmoid(features[folds == fold] @ np.array(fitted))
    bins = bin_confidences(predicted, truth)
    error = expected_calibration_error(bins)
    return CalibrationResult(fit_logistic(features, truth), len(truth), float(truth.mean()), error, bins)


def calibration_features(scored: Sequence[tuple[float, int]]) -> FloatArray:
    """[N,3]: the features of the three coefficients."""
    return np.array([(1.0, score / tokens, math.log(tokens)) for score, tokens in scored], dtype=np.float64)


def fit_logistic(features: FloatArray, truth: FloatArray) -> Calibration:
    """Return the most probable coefficients; the slope is 0 if it would be negative."""
    weights = _newton(features, truth)
    if weights[1] < 0:
        without = _newton(features[:, [0, 2]], truth)
        weights = np.array([without[0], 0.0, without[1]])
    return Calibration(*map(float, weights))


def _newton(features: FloatArray, truth: FloatArray) -> FloatArray:
    """argmax_w sum log p(truth | features w) - RIDGE/2 |w|^2 by Newton's method, halving steps that lead down."""
    weights = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = sigmoid(features @ weights)
        gradient = features.T @ (truth - predicted) - RIDGE * weights
        hessian = (features.T * (predicted * (1 - predicted))) @ features + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        while _log_likelihood(features, truth, weights + step) < _log_likelihood(features, truth, weights) - 1e-12:
            step = step / 2
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _log_likelihood(features: FloatArray, truth: FloatArray, weights: FloatArray) -> float:
    logits = features @ weights
    return float((truth * logits - np.logaddexp(0, logits)).sum() - RIDGE / 2 * weights @ weights)


def sigmoid(values: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)) without overflow."""
    result: FloatArray = np.exp(-np.logaddexp(0, -values))
    return result


def bin_confidences(confidence: FloatArray, truth: FloatArray) -> tuple[CalibrationBin, ...]:
    """Ten bins of equal width, without empty ones."""
    indices = np.minimum((confidence * BINS).astype(int), BINS - 1)
    members = [indices == index for index in range(BINS) if (indices == index).any()]
    return tuple(
        CalibrationBin(int(rows.sum()), float(confidence[rows].mean()), float(truth[rows].mean())) for rows in members
    )


def expected_calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """sum over the bins of their share of lines x |confidence - fraction of good lines|."""
    lines = sum(group.lines for group in bins)
    return sum(group.lines / lines * abs(group.confidence - group.good) for group in bins)
