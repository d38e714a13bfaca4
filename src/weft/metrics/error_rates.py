"""Exact match, word error rate, character error rate and position-independent error rate."""

from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from weft.metrics.scores import FloatArray, MetricOptions, Segments, SufficientStatistics, format_signature, percent


class EditCounts(NamedTuple):
    """The edits that turn a reference into an output."""

    correct: int
    substitutions: int
    deletions: int
    insertions: int

    def rank(self) -> tuple[int, int]:
        """Order references by the fewest edits, then the longest reference."""
        reference = self.correct + self.substitutions + self.deletions
        return self.substitutions + self.deletions + self.insertions, -reference


def exact_match(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """The percentage of lines that equal one of their references."""
    compared = lines.normalized(options)
    equal = [line in row for line, row in zip(compared.hypotheses, compared.references, strict=True)]
    rows = np.array([[float(same), 1.0] for same in equal])
    signature = format_signature(lines, options, f"weft:{version('weft')}")
    return SufficientStatistics(rows, lambda total: percent(total[0], total[1]), signature, ("equal", "lines"))


def wer(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """Word error rate: edits per hundred reference words, separated by white space."""
    return _error_rate(str.split, levenshtein_edits, "rapidfuzz", lines, options)


def cer(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """Character error rate: edits per hundred reference characters (Unicode code points, spaces included)."""
    return _error_rate(list, levenshtein_edits, "rapidfuzz", lines, options)


def per(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """Position-independent error rate (Tillmann et al. 1997): word error rate of bags of words."""
    return _error_rate(str.split, bag_of_words_edits, "weft", lines, options)


def levenshtein_edits(output: Sequence[str], reference: Sequence[str]) -> EditCounts:
    """Return the fewest edits, by rapidfuzz."""
    from rapidfuzz.distance import Levenshtein

    kinds = Counter(step.tag for step in Levenshtein.editops(reference, output))
    correct = len(reference) - kinds["replace"] - kinds["delete"]
    return EditCounts(correct, kinds["replace"], kinds["delete"], kinds["insert"])


def bag_of_words_edits(output: Sequence[str], reference: Sequence[str]) -> EditCounts:
    """Return max(lengths) - |common words| edits: as many substitutions as possible."""
    correct = (Counter(output) & Counter(reference)).total()
    substitutions = min(len(output), len(reference)) - correct
    deletions, insertions = len(reference) - correct - substitutions, len(output) - correct - substitutions
    return EditCounts(correct, substitutions, deletions, insertions)


def closest_reference(output: str, references: Sequence[str], split: Callable[[str], list[str]]) -> str:
    """Return the reference with the fewest edits, of equally close ones the longest."""
    return min(references, key=lambda reference: levenshtein_edits(split(output), split(reference)).rank())


def _error_rate(
    split: Callable[[str], list[str]],
    count_edits: Callable[[Sequence[str], Sequence[str]], EditCounts],
    package: str,
    lines: Segments,
    options: MetricOptions,
) -> SufficientStatistics:
    """100 x total edits / total reference length, where the closest of several references counts."""
    compared = lines.normalized(options)
    rows = np.array(
        [
            min((count_edits(split(line), split(reference)) for reference in row), key=EditCounts.rank)
            for line, row in zip(compared.hypotheses, compared.references, strict=True)
        ],
        dtype=np.float64,
    )
    signature = format_signature(lines, options, f"{package}:{version(package)}")
    return SufficientStatistics(rows, _rate_from_counts, signature, EditCounts._fields)


def _rate_from_counts(total: FloatArray) -> float:
    """Like TER, against references without any word a perfect output has 0 and any other 100."""
    correct, substitutions, deletions, insertions = total.tolist()
    edits = substitutions + deletions + insertions
    return percent(edits, correct + substitutions + deletions, 100.0 if edits else 0.0)
