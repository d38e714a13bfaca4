"""Mistakes with `weft distill`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("nothing", ["distill"], "weft distill TEACHER --out FOLDER"),
    mistake("no folder", ["distill", "{run}"], "weft distill TEACHER --out FOLDER"),
    mistake("no teacher", ["distill", "{bad}/none", "--out", "{new}"], "{bad}/none: there is no such folder"),
    mistake("no model", ["distill", "{corpus}", "--out", "{new}"], "{corpus} is not a model folder"),
    mistake("a damaged teacher", ["distill", "{flipped}", "--out", "{new}"], "weights.safetensors: is damaged"),
    mistake("a language model", ["distill", "{language}", "--out", "{new}"], "{language} is a language model"),
    mistake("a folder that is taken", ["distill", "{run}", "--out", "{bad}"], "{bad} exists already"),
    mistake(
        "no such lines",
        ["distill", "{run}", "--source", "{bad}/none", "--out", "{new}"],
        "{bad}/none: there is no such file",
    ),
    mistake(
        "no lines",
        ["distill", "{run}", "--source", "{bad}/blank.txt", "--out", "{new}"],
        "there is no line to translate",
    ),
    mistake(
        "lines that are not UTF-8",
        ["distill", "{run}", "--source", "{bad}/latin.txt", "--out", "{new}"],
        "{bad}/latin.txt, line 2: not UTF-8",
    ),
    mistake(
        "an unknown setting",
        ["distill", "{run}", "model.encoder.layer=3", "--out", "{new}"],
        'model.encoder: unknown setting "layer"',
    ),
    mistake(
        "data of its own",
        ["distill", "{run}", "data.train=[a.tsv]", "--out", "{new}"],
        "data.train is set",
        "--source FILE",
    ),
    mistake(
        "tokenizers of its own",
        ["distill", "{run}", "text.source.vocab_size=400", "--out", "{new}"],
        "text.source.vocab_size is set",
        "omit it",
    ),
    mistake(
        "a validation set that is gone",
        ["distill", "{run}", "data.valid=[{bad}/none.tsv]", "--out", "{new}"],
        "data.valid: {bad}/none.tsv",
        "data.validation_fraction=0.1",
    ),
    mistake(
        "heads that do not fit",
        ["distill", "{run}", "model.decoder.heads=3", "--out", "{new}"],
        "model.decoder",
    ),
    mistake("no student", ["distill", "--compare", "{run}"], "{run} is not the folder of a student"),
    mistake("compare and make", ["distill", "{run}", "--compare", "{run}"], "omit TEACHER"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_mistake(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
