"""Outputs that say the same again and again, or leave the source as it is."""

from __future__ import annotations

from collections.abc import Sequence

from weft.config.recipe import Train
from weft.metric.evaluate import evaluate_lines
from weft.metric.lines import Lines
from weft.store.run_log import History
from weft.training.diagnosis.finding import Finding

VALIDATIONS = 3  # in a row: a model that has learned little repeats and copies for a while, and then no more
STAYS = 0.8  # of what it was in the first of them, or it is on its way out
REPEATED = 10.0  # of a hundred pairs of words, beyond what the references repeat
COPIED = 30.0  # of a hundred words


def habits(lines: Lines) -> dict[str, float]:
    """What validation counts for these diagnoses: in outputs, and what references do themselves."""
    references = Lines([row[0] for row in lines.references], lines.references, lines.sources)
    repeated, copied = (score.value for score in evaluate_lines(lines, ("repetition", "copy")))
    (usual,) = (score.value for score in evaluate_lines(references, ("repetition",)))
    return {"repetition": repeated, "repetition_of_references": usual, "copy": copied}


def repeating(history: History, settings: Train) -> Finding | None:  # noqa: ARG001 (as all diagnoses)
    """Do outputs repeat pairs of words far more than references do? Welleck et al. 2020."""
    found = counted(history)
    shares = [one["repetition"] - one["repetition_of_references"] for one in found]
    if not stays_above(shares, REPEATED):
        return None
    usual = found[-1]["repetition_of_references"]
    what = f"{found[-1]['repetition']:.0f} % of the pairs of words in outputs were said before in the line; of the "
    what += f"references, {usual:.0f} %"
    cause = "the decoder goes round in circles: it has learned too little, or does not look at the source"
    setting = "a longer run (train.steps), a lower train.schedule.peak, or for the outputs translate.block_repeats=4"
    return Finding("repeating", what, cause, setting)


def copying(history: History, settings: Train) -> Finding | None:  # noqa: ARG001 (as all diagnoses)
    """Are words of the source left as they are, which stand in no reference?"""
    found = counted(history)
    if not stays_above([one["copy"] for one in found], COPIED):
        return None
    what = f"{found[-1]['copy']:.0f} % of the words in outputs are words of the source that no reference has"
    cause = "the model copies: in some of the training pairs the target is the source, or the languages are mixed up"
    setting = "data.train: weft check finds pairs whose sides are the same, and --fix takes them out"
    return Finding("copying", what, cause, setting)


def counted(history: History) -> list[dict[str, float]]:
    return [one["habits"] for one in history.validations if "habits" in one]


def stays_above(shares: Sequence[float], limit: float) -> bool:
    """Is it so in the last validations, and hardly less than in the first of them?"""
    last = shares[-VALIDATIONS:]
    return len(last) == VALIDATIONS and min(last) > limit and last[-1] >= STAYS * last[0]
