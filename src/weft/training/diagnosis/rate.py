"""A learning rate that is too high: the training loss goes up instead of down."""

from __future__ import annotations

from weft.config.recipe import Train
from weft.store.run_log import History
from weft.training.diagnosis.finding import Finding

REPORTS = 3  # in a row: one may be the noise of a batch
RISE = 0.1  # of the loss: more than the means of two reports differ by chance
LOST = 1 / 3  # of what had been won
RECENT = 10  # reports: what rises more slowly has other reasons, as an objective that grows harder


def rate_too_high(history: History, settings: Train) -> Finding | None:
    """Is the loss above its start, or is a third of what was won suddenly lost again, in all of the last reports?"""
    losses = [report["loss"] for report in history.reports]
    if len(losses) <= REPORTS:
        return None
    first, now = losses[0], min(losses[-REPORTS:])
    lowest = min(losses[-REPORTS - RECENT : -REPORTS])
    if now > first + RISE * abs(first):
        what = f"the training loss is {now:.2f}, above the {first:.2f} that it began with"
    elif now > lowest + RISE * abs(lowest) and now - lowest > LOST * (first - lowest) > 0:
        what = f"the training loss rose from {lowest:.2f} to {now:.2f} within some reports"
    else:
        return None
    return Finding("rate-too-high", what, f"the learning rate is too high{told_rate(history)}", advice(settings))


def told_rate(history: History) -> str:
    rate = history.reports[-1].get("rate")
    return "" if rate is None else f" ({rate:.2g} now)"


def advice(settings: Train) -> str:
    clip = ", train.clip=1" if settings.clip is None else ""
    return f"half of train.schedule.peak, or a longer train.schedule.warmup{clip}"
