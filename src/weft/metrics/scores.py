"""The types that all metrics share: segments with references, options, sufficient statistics, and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError

FloatArray: TypeAlias = NDArray[np.float64]
BetterDirection: TypeAlias = Literal["higher", "lower"]


@dataclass(frozen=True)
class Synonyms:
    """The numbers of the synonym sets that each word belongs to; words with a set in common are synonyms."""

    name: str
    sets: Mapping[str, frozenset[int]] = field(hash=False)

    def of(self, word: str) -> frozenset[int]:
        return self.sets.get(word, frozenset())


NO_SYNONYMS = Synonyms("none", {})


@dataclass(frozen=True)
class MetricOptions:
    """How lines are compared, where a metric has a choice."""

    lowercase: bool = False  # ignore case; TER and METEOR always do, like their published scores
    tokenize: str = "13a"  # how BLEU splits lines into words: any tokenizer of sacrebleu
    stem: str = "porter"  # METEOR's stemmer: any language or algorithm of snowballstemmer
    synonyms: Synonyms = NO_SYNONYMS  # for METEOR


DEFAULT_OPTIONS = MetricOptions()


class Segments(NamedTuple):
    """Outputs with the references of each, and the source lines if they are known."""

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None

    def normalized(self, options: MetricOptions) -> Segments:
        """Return the lines in lower case if the options say so."""
        if not options.lowercase:
            return self
        return Segments(
            [line.lower() for line in self.hypotheses],
            [[line.lower() for line in row] for row in self.references],
            None if self.sources is None else [line.lower() for line in self.sources],
        )


def check_segments(lines: Segments) -> None:
    """Raise UserError for lines that no metric can compare."""
    outputs, references = len(lines.hypotheses), len(lines.references)
    if outputs != references:
        raise UserError(f"{outputs} output lines but {references} reference lines: the numbers must be equal")
    if lines.sources is not None and len(lines.sources) != outputs:
        raise UserError(f"{outputs} output lines but {len(lines.sources)} source lines: the numbers must be equal")
    if not outputs:
        raise UserError("there are no lines to evaluate: the output and the references are empty")
    for number, row in enumerate(lines.references, start=1):
        if isinstance(row, str):  # a string is a sequence of strings too: its letters would be taken for references
            raise TypeError(f"line {number}: the references must be a list of lines, got the string {row!r}")
        if not row:
            raise UserError(f"line {number} has no reference: every line needs at least one")


def format_signature(lines: Segments, options: MetricOptions, *parts: str) -> str:
    """Return a signature like sacrebleu's: number of references ("var" if it varies), case, and other parts."""
    counts = {len(row) for row in lines.references}
    references = str(counts.pop()) if len(counts) == 1 else "var"
    return "|".join([f"nrefs:{references}", f"case:{'lc' if options.lowercase else 'mixed'}", *parts])


class SufficientStatistics(NamedTuple):
    """Statistics of each line whose sum determines the score of any set of lines.

    Bootstrap samples, lines of one length, and single lines are scored without reading them again.
    """

    rows: FloatArray  # [L,K]
    compute: Callable[[FloatArray], float]  # the score from a sum of rows [K]
    signature: str
    columns: tuple[str, ...] = ()  # names of the K statistics, if users know them

    def score(self) -> float:
        """Return the score of all lines."""
        return self.compute(self.rows.sum(0))

    def score_of(self, lines: NDArray[np.bool_]) -> float:
        """Return the score of some lines, a mask [L]."""
        return self.compute(self.rows[lines].sum(0))

    def sentence_scores(self) -> FloatArray:
        """Return the score of each line [L]."""
        return np.array([self.compute(row) for row in self.rows])

    def totals(self) -> tuple[tuple[str, float], ...]:
        """Return the sum of each named column."""
        return tuple(zip(self.columns, self.rows.sum(0).tolist(), strict=True)) if self.columns else ()


def percent(part: float, total: float, empty: float = 0.0) -> float:
    """Return 100 part / total, or `empty` if the total is 0."""
    return 100 * part / total if total else empty


class ConfidenceInterval(NamedTuple):
    """A 95 % bootstrap confidence interval."""

    low: float
    high: float

    def half_width(self) -> float:
        return (self.high - self.low) / 2


class MetricScore(NamedTuple):
    """A corpus score on the usual scale, and the signature needed to reproduce it."""

    name: str
    value: float
    better: BetterDirection
    signature: str
    interval: ConfidenceInterval | None = None
    counts: tuple[tuple[str, float], ...] = ()  # named statistics it was computed from, if users know them

    def __repr__(self) -> str:
        interval = "" if self.interval is None else f" ± {self.interval.half_width():.2f}"
        return f"<{self.name} {self.value:.2f}{interval}, {self.signature}>"


class ScoresByName(Mapping[str, MetricScore]):
    """Scores of one system by the names of their metrics, in the order of the metrics."""

    def __init__(self, scores: Iterable[MetricScore]):
        self._scores = {score.name: score for score in scores}

    def __getitem__(self, name: str) -> MetricScore:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(f'{name} {score.value:.2f}' for name, score in self.items())}>"
