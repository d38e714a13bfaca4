"""Mistakes with `weft evaluate`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("no translations", ["evaluate", "{bad}/none", "{corpus}/test.tgt"], "{bad}/none: there is no such file"),
    mistake("no reference", ["evaluate", "{corpus}/test.tgt"], "Missing argument"),
    mistake("missing reference", ["evaluate", "{corpus}/test.tgt", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake(
        "only a source",
        ["evaluate", "{run}", "{corpus}/test.src"],
        "{corpus}/test.src is a source without references",
        "weft evaluate MODEL TEST.tsv",
    ),
    mistake("no tab", ["evaluate", "{run}", "{bad}/ragged.tsv"], "{bad}/ragged.tsv, line 2: expected", "got no tab"),
    mistake("no tab, no model", ["evaluate", "{corpus}/test.tgt", "{bad}/ragged.tsv"], "{bad}/ragged.tsv, line 2:"),
    mistake("empty table", ["evaluate", "{run}", "{bad}/empty.tsv"], "{bad}/empty.tsv: is empty"),
    mistake("missing table", ["evaluate", "{run}", "{bad}/none.tsv"], "{bad}/none.tsv: there is no such file"),
    mistake(
        "a table and references",
        ["evaluate", "{run}", "{bad}/ragged.tsv", "{corpus}/test.tgt"],
        "{bad}/ragged.tsv has its own references, in its columns: omit {corpus}/test.tgt",
    ),
    mistake(
        "too few references",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "{corpus}/train.tgt"],
        "{corpus}/train.tgt has 400 lines, {corpus}/test.tgt has 20",
    ),
    mistake(
        "too few references for a model",
        ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/train.tgt"],
        "{corpus}/train.tgt has 400 lines, {corpus}/test.src has 20",
    ),
    mistake("nothing to evaluate", ["evaluate", "{bad}/empty.txt", "{bad}/empty.txt"], "{bad}/empty.txt", "no lines"),
    mistake(
        "unknown metric",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "belu"],
        "unknown metric 'belu': did you mean 'bleu'?",
    ),
    mistake(
        "unknown metric for a model",
        ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/test.tgt", "--metric", "belu", "--output", "{new}"],
        "unknown metric 'belu': did you mean 'bleu'?",
    ),
    mistake(
        "unknown words",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--tokenize", "14a"],
        "unknown tokenizer '14a'. Use one of",
    ),
    mistake(
        "words for no metric",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "wer", "--tokenize", "char"],
        "--tokenize only affects bleu, meteor, repetition, copy: add one of them with --metric",
    ),
    mistake(
        "stems of a language model",
        ["evaluate", "{language}", "{corpus}/test.src", "--stem", "german"],
        "{language} is a language model, scored by its perplexity: omit --stem, which is for",
    ),
    mistake(
        "a search for a file",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--beam", "2"],
        "{corpus}/test.tgt is a file of translations",
        "--beam",
    ),
    mistake(
        "an output for a file",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--output", "{new}"],
        "{corpus}/test.tgt is a file of translations",
        "--output",
    ),
    mistake(
        "an output over a reference",
        ["evaluate", "{bad}", "{corpus}/test.src", "{corpus}/train.tgt", "{recipe}", "--output", "{recipe}"],
        "{recipe}: is read from",
    ),
    mistake(
        "a metric of a language model",
        ["evaluate", "{language}", "{corpus}/test.src", "--metric", "bleu"],
        "{language} is a language model, scored by its perplexity: omit --metric",
    ),
    mistake(
        "references for a language model",
        ["evaluate", "{language}", "{corpus}/test.src", "{corpus}/test.tgt"],
        "{language} is a language model, which reads no source",
        "weft evaluate MODEL TEXT",
    ),
    mistake("no text", ["evaluate", "{language}", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("empty text", ["evaluate", "{language}", "{bad}/empty.txt"], "{bad}/empty.txt: is empty"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
