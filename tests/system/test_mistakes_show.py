"""Mistakes with `weft show`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("nothing to show", ["show"], "weft show RECIPE"),
    mistake("show nothing", ["show", "{bad}/none"], "{bad}/none: no such recipe file"),
    mistake("show no model", ["show", "{bad}"], "{bad} is not a model folder"),
    mistake("show a wrong recipe", ["show", "{recipe}", "model.tie=al"], "model.tie: should be one of", 'mean "all"?'),
    mistake("show another model", ["show", "{run}", "train.steps=3"], "{run}", "train.steps=3"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
