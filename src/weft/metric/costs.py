"""How bad one line is beside its reference: 0 where they are equal. What training by risk makes smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

CostName: TypeAlias = Literal["exact", "wer", "cer", "bleu", "chrf"]
Cost: TypeAlias = Callable[[str, str], float]  # line, reference


def line_cost(name: CostName) -> Cost:
    """1 unless exact; the error rate of words or characters; 1 - BLEU or 1 - chrF of the sentence."""
    match name:
        case "exact":
            return lambda line, reference: float(line != reference)
        case "wer":
            return lambda line, reference: _error_rate(line.split(), reference.split())
        case "cer":
            return _error_rate
        case "bleu":
            return _one_minus_bleu()
        case "chrf":
            return _one_minus_chrf()


def _error_rate(line: Sequence[str], reference: Sequence[str]) -> float:
    """Edits per word or character of the reference; beside an empty one, anything but nothing costs 1."""
    from rapidfuzz.distance import Levenshtein

    edits = Levenshtein.distance(line, reference)
    return edits / len(reference) if reference else float(edits > 0)


def _one_minus_bleu() -> Cost:
    """Only n-grams that a line is long enough for count (Chen & Cherry 2014): else short lines would have no BLEU."""
    from sacrebleu.metrics.bleu import BLEU

    return _one_minus(BLEU(effective_order=True))


def _one_minus_chrf() -> Cost:
    from sacrebleu.metrics.chrf import CHRF

    return _one_minus(CHRF())


def _one_minus(metric: Metric) -> Cost:
    """Equal lines cost nothing, though both be empty, to which the metrics give a score of 0."""

    def cost(line: str, reference: str) -> float:
        return 0.0 if line == reference else 1 - float(metric.sentence_score(line, [reference]).score) / 100

    return cost
