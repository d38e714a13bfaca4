"""The table of corpus metrics, and evaluation of outputs by the names in it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.data.languages import language_pair
from weft.metrics.bleu import bleu, chrf, default_tokenizer, ter
from weft.metrics.error_rates import cer, exact_match, per, wer
from weft.metrics.meteor import default_stemmer, meteor
from weft.metrics.output_errors import address_fidelity, copy_rate, number_fidelity, repetition_rate
from weft.metrics.scores import (
    DEFAULT_OPTIONS,
    BetterDirection,
    MetricOptions,
    MetricScore,
    Segments,
    SufficientStatistics,
    check_segments,
)
from weft.metrics.significance import BOOTSTRAP_SAMPLES, RESAMPLING_SEED, BootstrapScores, bootstrap


class CorpusMetric(NamedTuple):
    """A metric; uses_tokenizer: whether lines are split into words by `options.tokenize`."""

    measure: Callable[[Segments, MetricOptions], SufficientStatistics]
    better: BetterDirection
    uses_tokenizer: bool = False


METRICS: Mapping[str, CorpusMetric] = MappingProxyType(
    {
        "bleu": CorpusMetric(bleu, "higher", uses_tokenizer=True),
        "chrf": CorpusMetric(chrf, "higher"),
        "ter": CorpusMetric(ter, "lower"),
        "meteor": CorpusMetric(meteor, "higher", uses_tokenizer=True),
        "exact": CorpusMetric(exact_match, "higher"),
        "wer": CorpusMetric(wer, "lower"),
        "cer": CorpusMetric(cer, "lower"),
        "per": CorpusMetric(per, "lower"),
        "repetition": CorpusMetric(repetition_rate, "lower", uses_tokenizer=True),
        "copy": CorpusMetric(copy_rate, "lower", uses_tokenizer=True),
        "numbers": CorpusMetric(number_fidelity, "higher"),
        "addresses": CorpusMetric(address_fidelity, "higher"),
    }
)
DEFAULT_METRICS = ("bleu", "chrf", "ter", "exact", "wer", "cer")
LOWER_IS_BETTER = ("loss", "perplexity", *(name for name, metric in METRICS.items() if metric.better == "lower"))


def metric_statistics(
    lines: Segments, metrics: Sequence[str], options: MetricOptions = DEFAULT_OPTIONS
) -> dict[str, SufficientStatistics]:
    """Return the statistics of each of the named metrics."""
    check_segments(lines)
    for name in metrics:
        if name not in METRICS:
            hint = did_you_mean(name, METRICS)
            raise UserError(f"unknown metric {quote(name)}{hint} (use one of {', '.join(METRICS)})")
    return {name: METRICS[name].measure(lines, options) for name in metrics}


def evaluate(lines: Segments, metrics: Sequence[str], options: MetricOptions = DEFAULT_OPTIONS) -> list[MetricScore]:
    """Score segments by each of the named metrics."""
    return [make_score(name, statistics) for name, statistics in metric_statistics(lines, metrics, options).items()]


def evaluate_with_intervals(
    lines: Segments, metrics: Sequence[str], options: MetricOptions = DEFAULT_OPTIONS
) -> list[MetricScore]:
    """Score segments with bootstrap confidence intervals."""
    return [
        make_score(name, statistics, bootstrap(statistics, BOOTSTRAP_SAMPLES, RESAMPLING_SEED))
        for name, statistics in metric_statistics(lines, metrics, options).items()
    ]


def language_options(languages: Sequence[str]) -> MetricOptions:
    """Return the options that suit the target of the setting data.languages."""
    pair = language_pair(languages)
    if pair is None:
        return DEFAULT_OPTIONS
    return MetricOptions(tokenize=default_tokenizer(pair.target), stem=default_stemmer(pair.target))


def make_score(name: str, statistics: SufficientStatistics, sampled: BootstrapScores | None = None) -> MetricScore:
    """Return the score, with an interval if bootstrap samples are given and there is more than one line."""
    interval = None if sampled is None or len(statistics.rows) < 2 else sampled.interval()
    better = METRICS[name].better
    return MetricScore(name, statistics.score(), better, statistics.signature, interval, statistics.totals())


def check_metrics(metrics: Sequence[str], options: MetricOptions) -> None:
    """Raise UserError for a wrong name or option before the outputs are computed, which may take long."""
    metric_statistics(Segments([""], [[""]], [""]), metrics, options)


def is_better(name: str, new: float, old: float | None) -> bool:
    """Whether `new` improves on `old` in the metric or loss `name`."""
    if old is None:
        return True
    return new < old if name in LOWER_IS_BETTER else new > old
