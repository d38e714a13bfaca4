"""Lines and references in, scores out."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import NamedTuple

from weft.core.errors import UserError
from weft.metric.counts import Counts
from weft.metric.edits import cer, exact, per, wer
from weft.metric.faults import copy, repetition
from weft.metric.fidelity import addresses, numbers
from weft.metric.lines import DEFAULTS, Lines, Options, check
from weft.metric.meteor import meteor
from weft.metric.sacre import bleu, chrf, ter
from weft.metric.score import Better, Score
from weft.metric.significance import SAMPLES, SEED, Resampled, resample


class Metric(NamedTuple):
    """What it counts in lines, which way a score is better, and whether lines become words as options.tokenize says."""

    measure: Callable[[Lines, Options], Counts]
    better: Better
    splits: bool = False


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "bleu": Metric(bleu, "higher", splits=True),
        "chrf": Metric(chrf, "higher"),
        "ter": Metric(ter, "lower"),
        "meteor": Metric(meteor, "higher", splits=True),
        "exact": Metric(exact, "higher"),
        "wer": Metric(wer, "lower"),
        "cer": Metric(cer, "lower"),
        "per": Metric(per, "lower"),
        "repetition": Metric(repetition, "lower", splits=True),
        "copy": Metric(copy, "lower", splits=True),
        "numbers": Metric(numbers, "higher"),
        "addresses": Metric(addresses, "higher"),
    }
)
USUAL = ("bleu", "chrf", "ter", "exact", "wer", "cer")  # what is told where nothing is asked for


def count(lines: Lines, metrics: Sequence[str], options: Options = DEFAULTS) -> dict[str, Counts]:
    """What each of the named metrics counts in each line."""
    check(lines)
    chosen = {name: metric_named(name) for name in metrics}
    return {name: metric.measure(lines, options) for name, metric in chosen.items()}


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str],
    options: Options = DEFAULTS,
) -> list[Score]:
    """Score the lines by each of the named metrics; `references` holds one or several lines for each line."""
    return evaluate_lines(Lines(hypotheses, references), metrics, options)


def evaluate_lines(lines: Lines, metrics: Sequence[str], options: Options = DEFAULTS) -> list[Score]:
    """The same of lines whose sources may be known."""
    return [scored(name, counts) for name, counts in count(lines, metrics, options).items()]


def evaluate_with_intervals(lines: Lines, metrics: Sequence[str], options: Options = DEFAULTS) -> list[Score]:
    """The same, with where each score would lie with other lines of this kind."""
    return [
        with_interval(name, counts, resample(counts, SAMPLES, SEED))
        for name, counts in count(lines, metrics, options).items()
    ]


def scored(name: str, counts: Counts) -> Score:
    return Score(name, counts.score(), METRICS[name].better, counts.signature, counts=counts.named())


def with_interval(name: str, counts: Counts, sampled: Resampled) -> Score:
    """One line alone says nothing of others."""
    return scored(name, counts)._replace(interval=sampled.interval() if len(counts.rows) > 1 else None)


def check_metrics(metrics: Sequence[str], options: Options) -> None:
    """Refuse a wrong name before the lines are made, which may take long."""
    count(Lines([""], [[""]], [""]), metrics, options)


def metric_named(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    near = get_close_matches(name, METRICS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(f"there is no metric {name!r}; {hint}choose from {', '.join(METRICS)}")
