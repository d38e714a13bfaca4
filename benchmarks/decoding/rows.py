"""What is known of each search on some lines: its scores, how long its outputs are, how probable, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.decoding.choices import GREEDY
from benchmarks.decoding.measuring import Found
from benchmarks.shares import Share

from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.comparison import ComparisonSettings, score_systems
from weft.metrics.references import ComparisonData, SystemOutput
from weft.metrics.scores import MetricOptions, MetricScore

OPTIONS = MetricOptions(lowercase=True)
SETTINGS = ComparisonSettings(metrics=("bleu", "chrf"), options=OPTIONS, test="randomization", trials=1000)
TIE = 1e-4  # log-probabilities in float32 differ by less with the lines of a batch


class Below(NamedTuple):
    """A line, counted from 1, whose output is less probable than what greedy search found."""

    line: int
    score: float
    greedy_score: float
    text: str
    greedy_text: str


class Row(NamedTuple):
    """A search's line in the table. p: of the difference in BLEU to the first search, which has none itself."""

    search: str
    lines: int
    bleu: MetricScore
    chrf: MetricScore
    p: float | None
    length: float  # words for each word of the references
    seconds: float
    below: Sequence[Below] | None  # None: greedy search was not asked for, or is this one

    def at_least_greedy(self) -> Share | None:
        """On how many lines the output is at least as probable as that of greedy search."""
        return None if self.below is None else Share(self.lines - len(self.below), self.lines)


def rows_of(found: Mapping[str, Found], references: Sequence[str]) -> list[Row]:
    """In the order of the searches."""
    systems = [SystemOutput(name, one.texts) for name, one in found.items()]
    results = score_systems(ComparisonData(systems, [[reference] for reference in references]), SETTINGS)
    return [
        Row(
            bleu.system,
            len(references),
            bleu.score,
            chrf.score,
            bleu.p,
            length_ratio(found[bleu.system].texts, references),
            found[bleu.system].seconds,
            below_greedy(found, bleu.system),
        )
        for bleu, chrf in zip(results["bleu"], results["chrf"], strict=True)
    ]


def below_greedy(found: Mapping[str, Found], search: str) -> list[Below] | None:
    """The lines on which a search did worse than greedy search in what both are given: log P."""
    if search == GREEDY or GREEDY not in found:
        return None
    one, greedy = found[search], found[GREEDY]
    rows = zip(one.scores, greedy.scores, one.texts, greedy.texts, strict=True)
    return [Below(line, *row) for line, row in enumerate(rows, 1) if row[0] < row[1] - TIE]


def length_ratio(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Words of all outputs / words of all references, as BLEU splits and counts them for its brevity penalty."""
    split = bleu_word_splitter(OPTIONS)
    written, wanted = (sum(len(split(line)) for line in lines) for lines in (outputs, references))
    return written / wanted
