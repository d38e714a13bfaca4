"""Comparison of several systems on the same segments: scores with significance, scores by length, word F-score by
training frequency, and frequent word confusions (as in compare-mt, Neubig et al. 2019).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.core.progress_bar import progress_bar
from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.corpus_metrics import METRICS, make_score, metric_statistics
from weft.metrics.edit_distance import EditTable
from weft.metrics.error_rates import closest_reference
from weft.metrics.references import ComparisonData
from weft.metrics.scores import (
    DEFAULT_OPTIONS,
    BetterDirection,
    FloatArray,
    MetricOptions,
    MetricScore,
    Segments,
    SufficientStatistics,
    percent,
)
from weft.metrics.significance import (
    BOOTSTRAP_SAMPLES,
    RANDOMIZATION_TRIALS,
    RESAMPLING_SEED,
    SignificanceTest,
    approximate_randomization_p,
    bootstrap,
    paired_bootstrap_p,
)

LENGTH_BUCKETS = (0, 11, 21, 31, 41)  # where each bucket starts
FREQUENCY_BUCKETS = (0, 1, 2, 5, 10, 100, 1000)
MAX_CONFUSIONS = 12


class WordConfusion(NamedTuple):
    """A reference word and the word in its place in the output; "": a deleted or inserted word."""

    reference: str
    output: str
    frequency: int


def find_confusions(lines: Segments, options: MetricOptions, limit: int) -> list[WordConfusion]:
    """Return the most frequent confusions, equally frequent ones in alphabetical order."""
    split, compared = bleu_word_splitter(options), lines.normalized(options)
    counts: Counter[tuple[str, str]] = Counter()
    for line, row in zip(compared.hypotheses, compared.references, strict=True):
        reference = closest_reference(line, row, split)
        counts.update(
            (edit.source or "", edit.target or "")
            for edit in EditTable(split(reference), split(line)).edits()
            if edit.kind != "keep"
        )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [WordConfusion(*pair, count) for pair, count in ordered[:limit]]


class ScoreBucket(NamedTuple):
    """Lines of similar length, or words of similar frequency: their number, and the score of each system."""

    label: str
    size: int
    scores: tuple[float, ...]


def scores_by_length(
    systems: Sequence[SufficientStatistics], lengths: Sequence[int], starts: Sequence[int] = LENGTH_BUCKETS
) -> list[ScoreBucket]:
    """Return the scores of the lines in each bucket of lengths; empty buckets are left out."""
    buckets = np.searchsorted(starts, lengths, side="right") - 1
    members = ((label, buckets == number) for number, label in enumerate(bucket_labels(starts)))
    return [
        ScoreBucket(label, int(lines.sum()), tuple(statistics.score_of(lines) for statistics in systems))
        for label, lines in members
        if lines.any()
    ]


def quantile_starts(lengths: Sequence[int], count: int = 5) -> list[int]:
    """Return the starts of at most `count` buckets of about equally many lines."""
    quantiles: list[int] = np.quantile(lengths, np.arange(count) / count).round().astype(int).tolist()
    return sorted(set(quantiles))


def bucket_labels(starts: Sequence[int]) -> list[str]:
    """Return "0-10", "11-20", "21+" for buckets that start at 0, 11 and 21; "0" for a bucket of one number."""
    ends = [start - 1 for start in starts[1:]]
    inner = [str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=False)]
    return [*inner, f"{starts[-1]}+"]


def scores_by_frequency(
    systems: Sequence[Segments],
    frequency: Mapping[str, int],
    options: MetricOptions,
    starts: Sequence[int] = FREQUENCY_BUCKETS,
) -> list[ScoreBucket]:
    """Return the F-score of the words in each bucket of frequencies, in any order (as in compare-mt).

    The size of a bucket is the number of its words in the references, the first of each line.
    """
    counts = [_count_matches(lines.normalized(options), frequency, options, starts) for lines in systems]
    sizes = counts[0][1]
    return [
        ScoreBucket(
            label,
            sizes[bucket],
            tuple(percent(2 * both[bucket], reference[bucket] + output[bucket]) for both, reference, output in counts),
        )
        for bucket, label in enumerate(bucket_labels(starts))
        if sizes[bucket]
    ]


def word_frequencies(text: Iterable[str], options: MetricOptions) -> Counter[str]:
    """Count the words of a text."""
    split = bleu_word_splitter(options)
    return Counter(word for line in text for word in split(line.lower() if options.lowercase else line))


def count_words(text: Iterable[str]) -> list[int]:
    """Return the number of words of each line, separated by white space."""
    return [len(line.split()) for line in text]


def _count_matches(
    lines: Segments, frequency: Mapping[str, int], options: MetricOptions, starts: Sequence[int]
) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """The number of words of each bucket in both, in the references, and in the outputs."""
    split = bleu_word_splitter(options)
    totals = Counter[int](), Counter[int](), Counter[int]()
    for line, (first, *_) in zip(lines.hypotheses, lines.references, strict=True):
        output, reference = Counter(split(line)), Counter(split(first))
        for total, words in zip(totals, (output & reference, reference, output), strict=True):
            for word, count in words.items():
                total[bisect_right(starts, frequency.get(word, 0)) - 1] += count
    return totals


@dataclass(frozen=True)
class ComparisonSettings:
    """How systems are compared."""

    metrics: Sequence[str] = ("bleu", "chrf", "ter")
    options: MetricOptions = DEFAULT_OPTIONS
    test: SignificanceTest = "randomization"
    samples: int = BOOTSTRAP_SAMPLES  # of the bootstrap, for intervals and for its test
    trials: int = RANDOMIZATION_TRIALS  # of approximate randomization
    seed: int = RESAMPLING_SEED

    @classmethod
    def with_samples(
        cls,
        metrics: Sequence[str],
        options: MetricOptions,
        test: SignificanceTest,
        samples: int | None,
        seed: int | None,
    ) -> "ComparisonSettings":
        """Return settings in which `samples` replaces both the samples and the trials (None: the defaults)."""
        chosen = cls(metrics, options, test)
        if samples is not None:
            chosen = replace(chosen, samples=samples, trials=samples)
        return chosen if seed is None else replace(chosen, seed=seed)


DEFAULT_COMPARISON = ComparisonSettings()


class SystemScore(NamedTuple):
    """A system's score by one metric; p of the difference to the first system, None for the first itself."""

    system: str
    score: MetricScore
    p: float | None


class SentenceScores(NamedTuple):
    """The score of each line [systems,L]."""

    metric: str
    better: BetterDirection
    scores: FloatArray

    def goodness(self) -> FloatArray:
        """Return the scores with a sign such that higher is better."""
        return self.scores if self.better == "higher" else -self.scores


class Comparison(NamedTuple):
    """The results of a comparison, in the order of the systems."""

    data: ComparisonData
    settings: ComparisonSettings
    results: Mapping[str, Sequence[SystemScore]]  # by metric
    lengths: Sequence[ScoreBucket]
    frequencies: Sequence[ScoreBucket]
    uses_training_text: bool  # frequencies are those in a training text, not in the references

    def __repr__(self) -> str:
        scores = (
            ", ".join(f"{one.score.value:.2f}" + ("" if one.p is None else f" (p = {one.p:.4f})") for one in results)
            for results in self.results.values()
        )
        metrics = "; ".join(f"{name} {listed}" for name, listed in zip(self.results, scores, strict=True))
        return f"<Comparison of {', '.join(self.names())}: {metrics}>"

    def names(self) -> list[str]:
        return [system.name for system in self.data.systems]

    def word_error_rates(self) -> list[MetricScore]:
        statistics = _system_statistics(self.data, ["wer"], self.settings.options)["wer"]
        return [make_score("wer", system) for system in statistics]

    def confusions(self) -> list[list[WordConfusion]]:
        """Return the most frequent confusions of each system."""
        return [find_confusions(lines, self.settings.options, MAX_CONFUSIONS) for lines in self.data.segments()]

    def sentence_scores(self, metric: str) -> SentenceScores:
        statistics = _system_statistics(self.data, [metric], self.settings.options)[metric]
        scores = np.array([system.sentence_scores() for system in statistics])
        return SentenceScores(metric, METRICS[metric].better, scores)

    def describe_method(self) -> str:
        """Describe how intervals and p were computed, so that it can be repeated."""
        text = f"± holds 95 % of {self.settings.samples:,} bootstrap samples"
        if len(self.data.systems) > 1:
            trials = f"approximate randomization, {self.settings.trials:,} trials"
            test = "paired bootstrap" if self.settings.test == "bootstrap" else trials
            text += f"; p: {test}, against the first system"
        return f"{text}; seed {self.settings.seed}"

    @property
    def main_metric(self) -> str:
        """The metric of the scores by length."""
        return self.settings.metrics[0]

    @property
    def length_side(self) -> str:
        return "reference" if self.data.sources is None else "source"

    def length_title(self) -> str:
        return f"{self.main_metric} by the length of the {self.length_side}, in words"

    def frequency_title(self) -> str:
        return f"Words found, by frequency in the {'training text' if self.uses_training_text else 'references'}"


def compare_systems(
    data: ComparisonData, settings: ComparisonSettings, training: Iterable[str] | None = None
) -> Comparison:
    """Compare each system with the first; `training` is text in the language of the outputs."""
    if not settings.metrics:
        raise UserError("there is no metric to compare by")
    references = [row[0] for row in data.references]
    frequency = word_frequencies(references if training is None else training, settings.options)
    statistics = _system_statistics(data, settings.metrics, settings.options)
    return Comparison(
        data=data,
        settings=settings,
        results=_score_all(statistics, data, settings),
        lengths=scores_by_length(statistics[settings.metrics[0]], count_words(data.sources or references)),
        frequencies=scores_by_frequency(data.segments(), frequency, settings.options),
        uses_training_text=training is not None,
    )


def score_systems(data: ComparisonData, settings: ComparisonSettings) -> dict[str, list[SystemScore]]:
    """Return only the scores of the systems by each metric."""
    statistics = _system_statistics(data, settings.metrics, settings.options)
    return _score_all(statistics, data, settings)


def _score_all(
    statistics: Mapping[str, list[SufficientStatistics]], data: ComparisonData, settings: ComparisonSettings
) -> dict[str, list[SystemScore]]:
    with progress_bar("significance", len(statistics)) as update:
        results: dict[str, list[SystemScore]] = {}
        for name, systems in statistics.items():
            update(f"significance of {name}", len(results))
            results[name] = _system_scores(name, systems, data, settings)
        return results


def _system_statistics(
    data: ComparisonData, metrics: Sequence[str], options: MetricOptions
) -> dict[str, list[SufficientStatistics]]:
    """The statistics of each system, by metric."""
    systems = [metric_statistics(lines, metrics, options) for lines in data.segments()]
    return {name: [statistics[name] for statistics in systems] for name in dict.fromkeys(metrics)}


def _system_scores(
    metric: str, systems: Sequence[SufficientStatistics], data: ComparisonData, settings: ComparisonSettings
) -> list[SystemScore]:
    samples = [bootstrap(statistics, settings.samples, settings.seed) for statistics in systems]
    scores = []
    for system, statistics, sampled in zip(data.systems, systems, samples, strict=True):
        if statistics is systems[0]:
            p = None
        elif settings.test == "bootstrap":
            p = paired_bootstrap_p(samples[0], sampled)
        else:
            p = approximate_randomization_p(systems[0], statistics, settings.trials, settings.seed)
        scores.append(SystemScore(system.name, make_score(metric, statistics, sampled), p))
    return scores
