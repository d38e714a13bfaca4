"""Mistakes with `weft watch`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("nothing", ["watch"], "RUN..."),
    mistake("no run", ["watch", "--once", "{bad}/none"], "{bad}/none: there is no such folder", "--out of weft train"),
    mistake("no folder of a run", ["watch", "{bad}"], "{bad} is not a run folder: it has no config.yaml"),
    mistake("a model", ["watch", "{run}/best"], "{run}/best: is a model folder, which has no log"),
    mistake("a file", ["watch", "{run}", "{recipe}"], "{recipe}: is a file", "--out of weft train"),
    mistake("twice", ["watch", "{run}", "{run}"], "{run} is given twice"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
