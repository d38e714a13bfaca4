"""Mistakes with language models, which read no source: training, and `weft complete`."""

from collections.abc import Callable

import pytest

from system.mistakes import TRAIN, Mistake, mistake

LANGUAGE = ["train", "{language_recipe}", "--out", "{new}"]

MISTAKES = [
    mistake(
        "a language model translates",
        ["translate", "{language}", "{recipe}", "--output", "{new}"],
        "{language} is a language model, which reads no source",
        "weft complete MODEL PROMPT",
    ),
    mistake("complete nothing", ["complete"], "Missing argument 'MODEL'"),
    mistake("complete with no model", ["complete", "{bad}", "a"], "{bad} is not a model folder"),
    mistake(
        "a translator completes",
        ["complete", "{run}", "the", "cat"],
        "{run} is not a language model: it translates",
        "weft train language-model",
    ),
    mistake("no samples", ["complete", "{language}", "a", "--samples", "0"], "--samples", "greater than or equal to 1"),
    mistake("no heat", ["complete", "{language}", "a", "--temperature", "0"], "--temperature", "0.0001"),
    mistake("best of chance", ["complete", "{language}", "a", "--beam-search", "--seed", "2"], "omit", "--seed"),
    mistake("complete elsewhere", ["complete", "{language}", "a", "--device", "tpu9"], "--device tpu9 cannot be used"),
    mistake(
        "a long prompt",
        ["complete", "{language}", *["cat"] * 41],
        "has 41 tokens, but this model reads at most 40: give a shorter one",
    ),
    mistake(
        "one side of two", [*TRAIN, "data.monolingual=true"], "data.monolingual: true, but this model reads a source"
    ),
    mistake("no source to read", [*TRAIN, "model.source=none"], "model.encoder: reads a source, but model.source is"),
    mistake("nobody to read", [*TRAIN, "model.encoder=none"], "model.encoder: reads no source", "model.source: none"),
    mistake(
        "two sides for one", [*LANGUAGE, "data.monolingual=false"], "model.encoder: none, so a source would not be read"
    ),
    mistake(
        "two files of one side",
        [*LANGUAGE, "data.train=[train.src, train.tgt]"],
        "with data.monolingual, lines are read from one text file",
        "train.src, {corpus}/train.tgt",
    ),
    mistake("a table of one side", [*LANGUAGE, "data.train=['{bad}/ragged.tsv']"], "got {bad}/ragged.tsv"),
    mistake(
        "no lines", [*LANGUAGE, "data.train=['{bad}/empty.txt']"], "{bad}/empty.txt: empty, there is no line in it"
    ),
    mistake("blank lines", [*LANGUAGE, "data.train=['{bad}/blank.txt']"], "{bad}/blank.txt"),
    mistake(
        "nothing to look back at",
        [*LANGUAGE, "model.decoder={type: luong}"],
        "model.decoder: needs a source, but model.encoder is none",
        "sutskever with bridge: zeros",
    ),
    mistake("no bridge", [*LANGUAGE, "model.decoder={type: sutskever}"], "model.decoder: bridge: linear", "zeros"),
    mistake("tied to nothing", [*LANGUAGE, "model.tie=all"], "model.tie: all: the embeddings cannot share a weight"),
    mistake("lines to translate", [*LANGUAGE, "train.validation.lines=9"], "train.validation.lines: a language model"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
