"""Errors that need little or no reference: repetition, words copied from the source, and whether numbers, URLs and
e-mail addresses are preserved.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise

import numpy as np

from weft.core.errors import UserError
from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.scores import FloatArray, MetricOptions, Segments, SufficientStatistics, format_signature, percent
from weft.text.span_patterns import SpanKind, find_spans

ADDRESS_KINDS: tuple[SpanKind, ...] = ("urls", "emails")
NUMBER_PATTERN = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+)*")


def repetition_rate(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """The percentage of word bigrams that occurred before in the same line (Welleck et al. 2020, n = 2)."""
    split = bleu_word_splitter(options)
    bigrams = [list(pairwise(split(line))) for line in lines.normalized(options).hypotheses]
    rows = [(len(row) - len(set(row)), len(row)) for row in bigrams]
    return _rate(rows, lines, options, ("repeated", "bigrams"))


def copy_rate(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """The percentage of output words that are in the source and in no reference.

    Only words with a letter count. Names, which are rightly the same in both languages, are in the references.
    """
    if lines.sources is None:
        raise UserError(
            "copy needs the source to count untranslated words: give the references as a .tsv whose first column is "
            "the source (or weft compare --source FILE), or omit copy"
        )
    split, compared = bleu_word_splitter(options), lines.normalized(options)
    rows = [
        _count_copies(split(line), split(source), [split(reference) for reference in row])
        for line, source, row in zip(compared.hypotheses, compared.sources or (), compared.references, strict=True)
    ]
    return _rate(rows, lines, options, ("copied", "words"))


def _count_copies(line: Sequence[str], source: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    wrong = set(source).difference(*references)
    words = [word for word in line if any(map(str.isalpha, word))]
    return sum(word in wrong for word in words), len(words)


def _rate(
    rows: Sequence[tuple[int, int]], lines: Segments, options: MetricOptions, columns: tuple[str, str]
) -> SufficientStatistics:
    signature = format_signature(lines, options, f"tok:{options.tokenize}", f"weft:{version('weft')}")
    array = np.array(rows, dtype=np.float64)
    return SufficientStatistics(array, lambda total: percent(total[0], total[1]), signature, columns)


def number_fidelity(lines: Segments, _options: MetricOptions) -> SufficientStatistics:
    """F-score of the numbers: 100 if the output has exactly the numbers of the source.

    Digits are compared, since languages format numbers differently (1,000.5 and 1.000,5).
    """
    return _fidelity(count_numbers, lines)


def address_fidelity(lines: Segments, _options: MetricOptions) -> SufficientStatistics:
    """F-score of the URLs and e-mail addresses, which must be copied exactly."""
    return _fidelity(count_addresses, lines)


def count_numbers(line: str) -> Counter[str]:
    """Count the numbers outside addresses by their digits, in whatever script they are written."""
    spans = find_spans(line, ADDRESS_KINDS)
    ends, starts = [0, *(span.end for span in spans)], [*(span.first for span in spans), len(line)]
    rest = " ".join(line[end:start] for end, start in zip(ends, starts, strict=True))
    return Counter(
        "".join(str(unicodedata.digit(letter)) for letter in number if letter.isdigit())
        for number in NUMBER_PATTERN.findall(rest)
    )


def count_addresses(line: str) -> Counter[str]:
    return Counter(span.text for span in find_spans(line, ADDRESS_KINDS))


def _fidelity(count: Callable[[str], Counter[str]], lines: Segments) -> SufficientStatistics:
    """Compare with the source or, if it is unknown, with the reference that matches best."""
    expected = lines.references if lines.sources is None else [[source] for source in lines.sources]
    rows = [
        max((_match_counts(count(line), count(other)) for other in row), key=lambda row: _f_score(np.array(row)))
        for line, row in zip(lines.hypotheses, expected, strict=True)
    ]
    against = "references" if lines.sources is None else "source"
    signature = format_signature(lines, MetricOptions(), f"against:{against}", f"weft:{version('weft')}")
    columns = ("matches", "expected", "found")
    return SufficientStatistics(np.array(rows, dtype=np.float64), _f_score, signature, columns)


def _match_counts(output: Counter[str], expected: Counter[str]) -> tuple[int, int, int]:
    return (output & expected).total(), expected.total(), output.total()


def _f_score(total: FloatArray) -> float:
    """2 matches / (expected + found); 100 if there are none at all."""
    return percent(2 * total[0], total[1] + total[2], 100.0)
