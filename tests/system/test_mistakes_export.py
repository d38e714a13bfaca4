"""Mistakes with `weft export` and `weft shortlist`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

EXPORT = ["export", "{run}", "--out", "{new}"]
MISTAKES = [
    mistake("nowhere to go", EXPORT, "--to"),
    mistake("no such place to go", [*EXPORT, "--to", "steam"], "--to", "steam"),
    mistake("nowhere to write", ["export", "{run}", "--to", "onnx"], "--out"),
    mistake("no model", ["export", "{bad}", "--to", "onnx", "--out", "{new}"], "{bad} is not a model folder"),
    mistake("damaged", ["export", "{flipped}", "--to", "onnx", "--out", "{new}"], "weights.safetensors: is damaged"),
    mistake(
        "taken", ["export", "{run}", "--to", "ctranslate2", "--out", "{bad}"], "{bad} exists already", "another --out"
    ),
    mistake(
        "in a file",
        ["export", "{run}", "--to", "onnx", "--out", "{recipe}/x"],
        "{recipe} is no folder",
        "another --out",
    ),
    mistake("precision of onnx", [*EXPORT, "--to", "onnx", "--precision", "int8"], "--precision int8", "leave it out"),
    mistake("shortlist of onnx", [*EXPORT, "--to", "onnx", "--shortlist"], "--shortlist is for --to ctranslate2"),
    mistake("export of no shortlist", [*EXPORT, "--to", "ctranslate2", "--shortlist"], "has no shortlist"),
    mistake("check of ctranslate2", [*EXPORT, "--to", "ctranslate2", "--check"], "--check is for --to onnx"),
    mistake(
        "cannot go to ctranslate2",
        ["export", "{recurrent}", "--to", "ctranslate2", "--out", "{new}"],
        "{recurrent}/best: cannot go to CTranslate2",
        "model.encoder is recurrent",
        "model.decoder is bahdanau",
    ),
    mistake(
        "cannot go to onnx",
        ["export", "{recurrent}", "--to", "onnx", "--out", "{new}"],
        "{recurrent}/best: cannot go to ONNX",
        "model.encoder is recurrent",
        "model.decoder is bahdanau",
    ),
    mistake("no shortlist", ["translate", "{run}", "--shortlist"], "has no shortlist", "weft shortlist"),
    mistake("shortlist of a text", ["shortlist", "{language}"], "reads no text"),
    mistake("shortlist of one file", ["shortlist", "{run}", "{recipe}"], "{recipe}"),
    mistake("shortlist of nothing", ["shortlist", "{run}", "--best", "0"], "--best", "greater than or equal to 1"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
