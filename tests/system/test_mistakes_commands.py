"""Mistakes in the names of commands and options."""

from collections.abc import Callable

import pytest

from system.mistakes import TRAIN, Mistake, mistake

MISTAKES = [
    mistake("no command", ["tarin"], "No such command", "tarin"),
    mistake("unknown option", [*TRAIN, "--stepps", "3"], "No such option", "--stepps"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
