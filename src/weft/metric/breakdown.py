"""Scores by the length of lines, and how well words are translated by how often they were seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.metric.counts import Counts, percent
from weft.metric.lines import Lines, Options
from weft.metric.sacre import words

LENGTHS = (0, 11, 21, 31, 41)  # where each class begins
FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000)


class Class(NamedTuple):
    """Lines of some lengths, or words of some frequencies: how many there are, and each system's score of them."""

    label: str
    size: int
    scores: tuple[float, ...]


def by_length(systems: Sequence[Counts], lengths: Sequence[int], starts: Sequence[int] = LENGTHS) -> list[Class]:
    """The score of each system on lines of each class of lengths; classes without lines are left out."""
    place = np.searchsorted(starts, lengths, side="right") - 1
    found = ((label, place == number) for number, label in enumerate(labels(starts)))
    return [
        Class(label, int(lines.sum()), tuple(counts.score_of(lines) for counts in systems))
        for label, lines in found
        if lines.any()
    ]


def even_starts(lengths: Sequence[int], most: int = 5) -> list[int]:
    """Where classes begin that hold about as many lines each: at most so many, the first at the shortest line."""
    quantiles: list[int] = np.quantile(lengths, np.arange(most) / most).round().astype(int).tolist()
    return sorted(set(quantiles))


def by_frequency(
    systems: Sequence[Lines], frequency: Mapping[str, int], options: Options, starts: Sequence[int] = FREQUENCIES
) -> list[Class]:
    """F-score of the words of each class of frequencies, in any order (as compare-mt has it, Neubig et al. 2019).

    The size of a class is how many of its words stand in the references, the first of each line.
    """
    found = [_by_class(lines.folded(options), frequency, options, starts) for lines in systems]
    return [
        Class(label, found[0].wanted[number], tuple(one.score(number) for one in found))
        for number, label in enumerate(labels(starts))
        if found[0].wanted[number]
    ]


def frequencies(text: Iterable[str], options: Options) -> Counter[str]:
    """How often each word stands in a text."""
    split = words(options)
    return Counter(word for line in text for word in split(line.lower() if options.lowercase else line))


def word_lengths(text: Iterable[str]) -> list[int]:
    """How many words each line has: what white space separates."""
    return [len(line.split()) for line in text]


def labels(starts: Sequence[int]) -> list[str]:
    """0-10, 11-20, 21+ for classes that begin at 0, 11 and 21; a class of one number is that number."""
    ends = [start - 1 for start in starts[1:]]
    inner = [str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=False)]
    return [*inner, f"{starts[-1]}+"]


class _Words(NamedTuple):
    """For each class, words that stand in both, in the references, in the outputs."""

    kept: Counter[int]
    wanted: Counter[int]
    written: Counter[int]

    def score(self, number: int) -> float:
        return percent(2 * self.kept[number], self.wanted[number] + self.written[number])


def _by_class(lines: Lines, frequency: Mapping[str, int], options: Options, starts: Sequence[int]) -> _Words:
    split = words(options)
    found = _Words(Counter(), Counter(), Counter())
    for line, (reference, *_) in zip(lines.hypotheses, lines.references, strict=True):
        output, wanted = Counter(split(line)), Counter(split(reference))
        for total, some in zip(found, (output & wanted, wanted, output), strict=True):
            for word, number in some.items():
                total[_class_of(frequency.get(word, 0), starts)] += number
    return found


def _class_of(number: int, starts: Sequence[int]) -> int:
    return max(place for place, start in enumerate(starts) if start <= number)
