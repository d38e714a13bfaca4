"""Mistakes with `weft export` and `weft shortlist`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

EXPORT = ["export", "{run}", "--out", "{new}"]
MISTAKES = [
    mistake("nowhere to go", EXPORT, "--format"),
    mistake("no such place to go", [*EXPORT, "--format", "steam"], "--format", "steam"),
    mistake("nowhere to write", ["export", "{run}", "--format", "onnx"], "--out"),
    mistake("no model", ["export", "{bad}", "--format", "onnx", "--out", "{new}"], "{bad} is not a model folder"),
    mistake(
        "damaged", ["export", "{flipped}", "--format", "onnx", "--out", "{new}"], "weights.safetensors: is damaged"
    ),
    mistake(
        "taken",
        ["export", "{run}", "--format", "ctranslate2", "--out", "{bad}"],
        "{bad} exists already",
        "another --out",
    ),
    mistake(
        "in a file",
        ["export", "{run}", "--format", "onnx", "--out", "{recipe}/x"],
        "{recipe} is no folder",
        "another --out",
    ),
    mistake("precision of onnx", [*EXPORT, "--format", "onnx", "--precision", "int8"], "--precision int8", "omit it"),
    mistake(
        "shortlist of onnx", [*EXPORT, "--format", "onnx", "--shortlist"], "--shortlist needs --format ctranslate2"
    ),
    mistake("export of no shortlist", [*EXPORT, "--format", "ctranslate2", "--shortlist"], "has no shortlist"),
    mistake("check of ctranslate2", [*EXPORT, "--format", "ctranslate2", "--verify"], "--verify needs --format onnx"),
    mistake(
        "cannot go to ctranslate2",
        ["export", "{recurrent}", "--format", "ctranslate2", "--out", "{new}"],
        "{recurrent}/best: cannot be exported to CTranslate2",
        "model.encoder is recurrent",
        "model.decoder is bahdanau",
    ),
    mistake(
        "cannot go to onnx",
        ["export", "{recurrent}", "--format", "onnx", "--out", "{new}"],
        "{recurrent}/best: cannot be exported to ONNX",
        "model.encoder is recurrent",
        "model.decoder is bahdanau",
    ),
    mistake("no shortlist", ["translate", "{run}", "--shortlist"], "has no shortlist", "weft shortlist"),
    mistake("shortlist of a text", ["shortlist", "{language}"], "reads no text"),
    mistake("shortlist of one file", ["shortlist", "{run}", "{recipe}"], "{recipe}"),
    mistake(
        "shortlist of nothing", ["shortlist", "{run}", "--per-token", "0"], "--per-token", "greater than or equal to 1"
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
