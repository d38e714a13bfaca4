"""Mistakes with `weft report`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

TO = ["--output", "{new}"]

MISTAKES = [
    mistake("no run", ["report"], "Missing argument 'RUN'"),
    mistake("no such run", ["report", "{bad}/none", *TO], "{bad}/none: there is no such folder. Give a run folder"),
    mistake("no folder", ["report", "{bad}/empty.txt", *TO], "{bad}/empty.txt is not a run folder"),
    mistake("a folder of something else", ["report", "{bad}", *TO], "{bad} is not a run folder: it has no config.yaml"),
    mistake("a model", ["report", "{run}/best", *TO], "{run}/best is a model folder", "weft show {run}/best"),
    mistake("a broken log", ["report", "{scarred}", *TO], "{scarred}/log.jsonl, line 2: is damaged", "remove"),
    mistake("no folder for the page", ["report", "{run}", "--output", "{new}/x.html"], "there is no folder {new}"),
    mistake("a folder as the page", ["report", "{run}", "--output", "{bad}"], "{bad}: is a folder"),
    mistake("over the log", ["report", "{run}", "--output", "{run}/log.jsonl"], "{run}/log.jsonl: is read from"),
    mistake("over the model", ["report", "{run}", "--output", "{run}/best/config.json"], "config.json: is read from"),
    mistake("over the data", ["report", "{run}", "--output", "{corpus}/valid.src"], "{corpus}/valid.src: is read from"),
    mistake("no lines", ["report", "{run}", *TO, "--max-lines", "0"], "--max-lines", "greater than or equal to 1"),
    mistake("no such device", ["report", "{run}", *TO, "--device", "gpu"], "gpu"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
