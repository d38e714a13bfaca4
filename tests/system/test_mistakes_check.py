"""Mistakes with `weft check`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

FILES = ["{corpus}/train.src", "{corpus}/train.tgt"]

MISTAKES = [
    mistake("nothing to check", ["check"], "There is nothing to check", "weft check train.en train.de"),
    mistake("one file", ["check", "{corpus}/train.src"], "two text files", "{corpus}/train.src"),
    mistake("missing file", ["check", "{corpus}/train.scr", "{corpus}/train.tgt"], "is it {corpus}/train.src?"),
    mistake("missing recipe", ["check", "{bad}/none.yaml"], "{bad}/none.yaml: there is no such file"),
    mistake("recipe and data", ["check", "{recipe}", "{corpus}/train.src"], "{recipe} is a recipe"),
    mistake("recipe without data", ["check", "{recipe}", "data.train=[]"], "data.train: names no files"),
    mistake("unknown setting", ["check", *FILES, "data.max_lenght=3"], 'unknown setting "max_lenght"', "max_length"),
    mistake("empty files", ["check", "{bad}/empty.txt", "{bad}/empty.txt"], "{bad}/empty.txt", "no pair in it"),
    mistake("half a validation set", ["check", *FILES, "--valid", "{corpus}/valid.src"], "two text files"),
    mistake("no such test set", ["check", *FILES, "--test", "{bad}/none.tsv"], "{bad}/none.tsv: there is no such file"),
    mistake("no such model", ["check", *FILES, "--tokenizer", "{bad}"], "{bad} is not a model folder"),
    mistake("torn model", ["check", *FILES, "--tokenizer", "{torn}"], "source.tokenizer.json"),
    mistake("keep without fix", ["check", *FILES, "--ignore", "empty"], "--ignore only affects --fix"),
    mistake("keep what", ["check", *FILES, "--fix", "{new}", "--ignore", "emty"], 'did you mean "empty"?'),
    mistake("keep a hint", ["check", *FILES, "--fix", "{new}", "--ignore", "numbers"], "--ignore numbers", "duplicate"),
    mistake("fix into the corpus", ["check", *FILES, "--fix", "{corpus}"], "{corpus} exists already", "--fix"),
    mistake("fix below a file", ["check", *FILES, "--fix", "{recipe}/x"], "{recipe}/x cannot be made"),
    mistake(
        "fix of unequal files",
        ["check", "{corpus}/train.src", "{corpus}/test.tgt", "--fix", "{new}"],
        "one file has more lines than the other",
    ),
    mistake(
        "fix of one file as both",
        ["check", "{corpus}/train.src", "{corpus}/train.src", "--fix", "{new}"],
        "name each file once",
    ),
    mistake("blank files", ["check", "{bad}/blank.txt", "{bad}/blank2.txt", "--fix", "{new}"], "would leave nothing"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
