"""Which of two measurements is the better one."""

from weft.metric.evaluate import METRICS

LOWER = ("loss", "perplexity", *(name for name, metric in METRICS.items() if metric.better == "lower"))


def better(name: str, new: float, old: float | None) -> bool:
    """Is `new` an improvement in what `name` measures?"""
    if old is None:
        return True
    return new < old if name in LOWER else new > old
