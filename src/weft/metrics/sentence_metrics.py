"""Sentence-level costs for minimum-risk training and minimum Bayes risk decoding: one line against its reference,
or all pairs of lines at once. 0: they are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.scores import FloatArray, MetricOptions

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

CostName: TypeAlias = Literal["exact", "wer", "cer", "bleu", "chrf"]
SentenceCost: TypeAlias = Callable[[str, str], float]  # line, reference
NgramOverlap: TypeAlias = tuple[FloatArray, FloatArray]  # n-grams that two lines share [M,M], n-grams of each line [M]

CHRF_ORDER, CHRF_BETA = 6, 2.0
BLEU_ORDER = 4


def sentence_cost(name: CostName) -> SentenceCost:
    """Return a cost: 1 unless exact; word or character error rate; 1 - BLEU or 1 - chrF of the sentence."""
    match name:
        case "exact":
            return lambda line, reference: float(line != reference)
        case "wer":
            return lambda line, reference: _error_rate(line.split(), reference.split())
        case "cer":
            return _error_rate
        case "bleu":
            from sacrebleu.metrics.bleu import BLEU

            # Only n-gram orders that the line is long enough for count (Chen & Cherry 2014); others would make BLEU 0.
            return _one_minus(BLEU(effective_order=True))
        case "chrf":
            from sacrebleu.metrics.chrf import CHRF

            return _one_minus(CHRF())


def _error_rate(line: Sequence[str], reference: Sequence[str]) -> float:
    """Edits per reference word or character; against an empty reference anything but an empty line costs 1."""
    from rapidfuzz.distance import Levenshtein

    edits = Levenshtein.distance(line, reference)
    return edits / len(reference) if reference else float(edits > 0)


def _one_minus(metric: Metric) -> SentenceCost:
    """Equal lines cost 0, even empty ones, for which the metrics give a score of 0."""

    def cost(line: str, reference: str) -> float:
        return 0.0 if line == reference else 1 - float(metric.sentence_score(line, [reference]).score) / 100

    return cost


def pairwise_costs(name: CostName, texts: Sequence[str]) -> FloatArray:
    """[M,M]: the cost of the text of each row with that of the column as its reference.

    BLEU and chrF count the n-grams of each line once, not once for every pair as sacrebleu would (chrF of 32 lines: 25
    times faster).
    """
    match name:
        case "chrf":
            letters = ["".join(text.split()) for text in texts]
            costs = 1 - _pairwise_chrf([_ngram_overlap(order, letters) for order in range(1, CHRF_ORDER + 1)])
        case "bleu":
            tokens = list(map(bleu_word_splitter(MetricOptions()), texts))
            costs = 1 - _pairwise_bleu([_ngram_overlap(order, tokens) for order in range(1, BLEU_ORDER + 1)])
        case _:
            cost = sentence_cost(name)
            costs = np.array([[cost(text, other) for other in texts] for text in texts])
    array = np.array(texts, dtype=object)
    costs[array[:, None] == array[None, :]] = 0.0  # even of empty texts
    return costs


def _ngram_overlap(order: int, sequences: Sequence[Sequence[str]]) -> NgramOverlap:
    """Count the n-grams that any two sequences share: the sum of the smaller of their counts."""
    counters = [Counter(_ngrams(sequence, order)) for sequence in sequences]
    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(n for counter in counters for n in counter))}
    counts = np.zeros((len(sequences), len(columns)), np.int32)
    for row, counter in zip(counts, counters, strict=True):
        row[[columns[ngram] for ngram in counter]] = list(counter.values())
    shared = [np.minimum(row[row > 0], counts[:, row > 0]).sum(1) for row in counts]
    return np.array(shared, np.float64), counts.sum(1).astype(np.float64)


def _ngrams(sequence: Sequence[str], order: int) -> Iterable[Sequence[str]]:
    starts = range(len(sequence) - order + 1)
    if isinstance(sequence, str):
        return (sequence[start : start + order] for start in starts)
    return (tuple(sequence[start : start + order]) for start in starts)


def _pairwise_chrf(orders: Sequence[NgramOverlap]) -> FloatArray:
    """(1 + b^2) P R / (b^2 P + R), P and R the means over the orders that both lines are long enough for.

    Popović 2015, with b = 2.
    """
    precisions, recalls, effective = (np.zeros_like(orders[0][0]) for _ in range(3))
    for shared, totals in orders:
        both = np.outer(totals, totals) > 0
        precisions += np.where(both, shared / np.maximum(totals, 1)[:, None], 0)
        recalls += np.where(both, shared / np.maximum(totals, 1)[None, :], 0)
        effective += both
    precision, recall = precisions / np.maximum(effective, 1), recalls / np.maximum(effective, 1)
    weighted = CHRF_BETA**2 * precision + recall
    return (1 + CHRF_BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1)


def _pairwise_bleu(orders: Sequence[NgramOverlap]) -> FloatArray:
    """min(1, exp(1 - |r| / |h|)) (prod_n p_n)^(1/N), n up to the length of the line h.

    Papineni et al. 2002; Chen & Cherry 2014 for the orders. If nothing is shared, p_n is 1/2^k of one n-gram in the
    k-th such order; if no word is shared, BLEU is 0.
    """
    logs, missing = np.zeros_like(orders[0][0]), np.zeros_like(orders[0][0])
    for shared, totals in orders:
        long_enough = (totals > 0)[:, None]
        missing += long_enough & (shared == 0)
        smoothed = np.where(shared > 0, shared, 0.5**missing) / np.maximum(totals, 1)[:, None]
        logs += np.where(long_enough, np.log(smoothed), 0)
    effective = sum((totals > 0).astype(np.float64) for _, totals in orders)
    shared_words, lengths = orders[0]
    brevity = np.minimum(1.0, np.exp(1 - lengths[None, :] / np.maximum(lengths, 1)[:, None]))
    return np.where(shared_words > 0, brevity * np.exp(logs / np.maximum(effective, 1)[:, None]), 0.0)
