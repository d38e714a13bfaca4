"""Mistakes with `weft student`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("nothing", ["student"], "weft student TEACHER --out FOLDER"),
    mistake("no folder", ["student", "{run}"], "weft student TEACHER --out FOLDER"),
    mistake("no teacher", ["student", "{bad}/none", "--out", "{new}"], "{bad}/none: there is no such folder"),
    mistake("no model", ["student", "{corpus}", "--out", "{new}"], "{corpus} is not a model folder"),
    mistake("a damaged teacher", ["student", "{flipped}", "--out", "{new}"], "weights.safetensors: is damaged"),
    mistake("a language model", ["student", "{language}", "--out", "{new}"], "{language} is a language model"),
    mistake("a folder that is taken", ["student", "{run}", "--out", "{bad}"], "{bad} exists already"),
    mistake(
        "no such lines",
        ["student", "{run}", "--source", "{bad}/none", "--out", "{new}"],
        "{bad}/none: there is no such file",
    ),
    mistake(
        "no lines",
        ["student", "{run}", "--source", "{bad}/blank.txt", "--out", "{new}"],
        "there is no line to translate",
    ),
    mistake(
        "lines that are not UTF-8",
        ["student", "{run}", "--source", "{bad}/latin.txt", "--out", "{new}"],
        "{bad}/latin.txt, line 2: not UTF-8",
    ),
    mistake(
        "an unknown setting",
        ["student", "{run}", "model.encoder.layer=3", "--out", "{new}"],
        'model.encoder: unknown setting "layer"',
    ),
    mistake(
        "data of its own",
        ["student", "{run}", "data.train=[a.tsv]", "--out", "{new}"],
        "data.train is set",
        "--source FILE",
    ),
    mistake(
        "tokenizers of its own",
        ["student", "{run}", "text.source.size=400", "--out", "{new}"],
        "text.source.size is set",
        "leave it out",
    ),
    mistake(
        "a validation set that is gone",
        ["student", "{run}", "data.valid=[{bad}/none.tsv]", "--out", "{new}"],
        "data.valid: {bad}/none.tsv",
        "data.hold_out=0.1",
    ),
    mistake(
        "heads that do not fit",
        ["student", "{run}", "model.decoder.heads=3", "--out", "{new}"],
        "model.decoder",
    ),
    mistake("no student", ["student", "--compare", "{run}"], "{run} is not the folder of a student"),
    mistake("compare and make", ["student", "{run}", "--compare", "{run}"], "leave out TEACHER"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_mistake(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
