"""Outputs and results of each search: scores, output length, log-probability and time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.search_comparison.search_settings import GREEDY, SEARCHES
from benchmarks.summary_statistics import Proportion

from weft.core.errors import UserError
from weft.inference.loader import load_translator
from weft.inference.translator import Translator
from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.comparison import ComparisonSettings, score_systems
from weft.metrics.references import ComparisonData, SystemOutput
from weft.metrics.scores import MetricOptions, MetricScore

OPTIONS = MetricOptions(lowercase=True)
SETTINGS = ComparisonSettings(metrics=("bleu", "chrf"), options=OPTIONS, test="randomization", trials=1000)
TIE = 1e-4  # log-probabilities in float32 differ by less with the lines of a batch


class SearchOutputs(NamedTuple):
    """An output for each line and the log-probability of each under the model."""

    texts: Sequence[str]
    scores: Sequence[float]
    seconds: float  # for all lines


def run_search(run: Path, search: str, sources: Sequence[str]) -> SearchOutputs:
    """Translate all lines and time it, without loading the model."""
    translator = load_warmed_up(run, search, sources[0])
    began = time.perf_counter()
    translations = translator.translate(sources, split=False)
    seconds = time.perf_counter() - began
    return SearchOutputs(
        [translation.text for translation in translations], [translation.score for translation in translations], seconds
    )


def load_warmed_up(run: Path, search: str, line: str) -> Translator:
    """Load a translator and warm it up on one line, which also reports unsupported searches early."""
    try:
        translator = load_translator(run, overrides=SEARCHES[search])
        translator.translate([line], split=False)
    except UserError as error:
        raise UserError(f"{run}: {search}: {error} (--searches chooses others)") from error
    return translator


class BelowGreedy(NamedTuple):
    """A line, counted from 1, whose output is less probable than the greedy output."""

    line: int
    score: float
    greedy_score: float
    text: str
    greedy_text: str


class Row(NamedTuple):
    """Results of a search. p: significance of the difference in BLEU to the first search; None for the first."""

    search: str
    lines: int
    bleu: MetricScore
    chrf: MetricScore
    p: float | None
    length: float  # words for each word of the references
    seconds: float
    below: Sequence[BelowGreedy] | None  # None for greedy search, or if it was not run

    def at_least_greedy(self) -> Proportion | None:
        """Return the proportion of lines whose output is at least as probable as the greedy output."""
        return None if self.below is None else Proportion(self.lines - len(self.below), self.lines)


def rows_of(found: Mapping[str, SearchOutputs], references: Sequence[str]) -> list[Row]:
    """Score all searches, in their order."""
    systems = [SystemOutput(name, outputs.texts) for name, outputs in found.items()]
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


def below_greedy(found: Mapping[str, SearchOutputs], search: str) -> list[BelowGreedy] | None:
    """Return the lines whose output has a lower log-probability than the greedy output."""
    if search == GREEDY or GREEDY not in found:
        return None
    outputs, greedy = found[search], found[GREEDY]
    rows = zip(outputs.scores, greedy.scores, outputs.texts, greedy.texts, strict=True)
    return [BelowGreedy(line, *row) for line, row in enumerate(rows, 1) if row[0] < row[1] - TIE]


def length_ratio(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return words of the outputs / words of the references, tokenized as for BLEU's brevity penalty."""
    split = bleu_word_splitter(OPTIONS)
    output_words, reference_words = (sum(len(split(line)) for line in lines) for lines in (outputs, references))
    return output_words / reference_words
