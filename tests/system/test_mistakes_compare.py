"""Mistakes with `weft compare` and `weft distance`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

COMPARE = ["compare", "{corpus}/test.tgt", "{corpus}/test.src"]

MISTAKES = [
    mistake("no system", ["compare", "{corpus}/test.tgt"], "Missing argument"),
    mistake("missing system", ["compare", "{corpus}/test.tgt", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("other lines", ["compare", "{corpus}/test.tgt", "{corpus}/train.tgt"], "has 400 lines", "has 20"),
    mistake("twice the same", [*COMPARE, "{corpus}/test.src"], "test.src is given twice"),
    mistake("unknown metric", [*COMPARE, "--metric", "belu"], "unknown metric 'belu': did you mean 'bleu'?"),
    mistake("unknown words", [*COMPARE, "--metric", "wer", "--tokenize", "14a"], "unknown tokenizer '14a'. Use one of"),
    mistake("no such test", [*COMPARE, "--test", "t"], "'t' is not one of 'bootstrap', 'randomization'"),
    mistake("no training text", [*COMPARE, "--train", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("page in no folder", [*COMPARE, "--html", "{bad}/none/x.html"], "there is no folder {bad}/none"),
    mistake(
        "sentences without a page",
        [*COMPARE, "--sentence-metric", "wer"],
        "--sentence-metric only affects the page",
        "add --html FILE",
    ),
    mistake("copies of no source", [*COMPARE, "--metric", "copy"], "copy needs the source", "--source FILE"),
    mistake("one string", ["distance", "a"], "Missing argument"),
    mistake("a cost below nothing", ["distance", "a", "b", "--insert", "-1"], "--insert", "greater than or equal to 0"),
    mistake("an endless cost", ["distance", "a", "b", "--insert", "inf"], "--insert inf: the cost of an edit must be"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
