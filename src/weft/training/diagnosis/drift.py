"""Validation that drifts away from training: the model learns its data by heart."""

from __future__ import annotations

from weft.config.recipe import Train
from weft.metric.better import better
from weft.store.run_log import History
from weft.training.diagnosis.finding import Finding

RISES = 3  # validations in a row, each with a higher loss
RISE = 0.02  # of the loss in all: less may be chance


def drifting(history: History, settings: Train) -> Finding | None:
    """Does the validation loss rise while the training loss falls, and has what counts not been better since?

    A loss alone may rise while translations still improve: then nothing is wrong.
    """
    if len(history.validations) <= RISES:
        return None
    last = history.validations[-RISES - 1 :]
    if any("loss" not in one for one in last):
        return None
    losses = [one["loss"] for one in last]
    trained = [history.training_loss(one["step"]) for one in (last[0], last[-1])]
    rising = losses == sorted(set(losses)) and losses[-1] > losses[0] + RISE * abs(losses[0])
    if not rising or trained[0] is None or trained[1] is None or trained[1] >= trained[0]:
        return None
    if improved(history, settings.validation.choose):
        return None
    what = (
        f"the validation loss rose from {losses[0]:.2f} to {losses[-1]:.2f} in {RISES} validations, while the training "
        f"loss fell from {trained[0]:.2f} to {trained[1]:.2f}"
    )
    cause = "the model learns the training data by heart, or validates on data of another kind"
    setting = (
        "train.validation.patience=3 to stop by itself (best/ holds the best so far), a higher dropout, more data, "
        "or a smaller model"
    )
    return Finding("drift", what, cause, setting)


def improved(history: History, choose: str) -> bool:
    """Was one of the last validations better than all before?"""
    scores = [one[choose] for one in history.validations if choose in one]
    best: float | None = None
    for place, score in enumerate(scores):
        if better(choose, score, best):
            best, found = score, place
    return best is not None and found >= len(scores) - RISES
