"""Lines and references in, scores out."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from weft.core.errors import UserError
from weft.metric.edits import cer, exact, wer
from weft.metric.lines import DEFAULTS, Lines, Options, check
from weft.metric.sacre import bleu, chrf, ter
from weft.metric.score import Score

METRICS: Mapping[str, Callable[[Lines, Options], Score]] = MappingProxyType(
    {"bleu": bleu, "chrf": chrf, "ter": ter, "exact": exact, "wer": wer, "cer": cer}
)


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str],
    options: Options = DEFAULTS,
) -> list[Score]:
    """Score the lines by each of the named metrics; `references` holds one or several lines for each line."""
    lines = Lines(hypotheses, references)
    check(lines)
    chosen = [_metric(name) for name in metrics]
    return [metric(lines, options) for metric in chosen]


def check_metrics(metrics: Sequence[str], options: Options) -> None:
    """Refuse a wrong name before the lines are made, which may take long."""
    evaluate([""], [[""]], metrics, options)


def _metric(name: str) -> Callable[[Lines, Options], Score]:
    if name in METRICS:
        return METRICS[name]
    near = get_close_matches(name, METRICS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(f"there is no metric {name!r}; {hint}choose from {', '.join(METRICS)}")
