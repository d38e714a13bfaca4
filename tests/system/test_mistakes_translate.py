"""Mistakes with `weft translate`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("no model", ["translate", "{bad}/none"], "{bad}/none: there is no such folder"),
    mistake("folder without model", ["translate", "{bad}"], "{bad} is not a model folder"),
    mistake("file as model", ["translate", "{recipe}"], "{recipe} is not a model folder"),
    mistake(
        "flipped", ["translate", "{flipped}"], "{flipped}/weights.safetensors: is damaged: its content has changed"
    ),
    mistake("torn", ["translate", "{torn}"], "{torn}/source.tokenizer.json: is missing"),
    mistake("crowded", ["translate", "{crowded}"], "{crowded}/notes.txt: does not belong there"),
    mistake("no input", ["translate", "{run}", "{bad}/none.txt"], "{bad}/none.txt: there is no such file"),
    mistake("folder as input", ["translate", "{run}", "{bad}"], "{bad}: is a folder, not a file"),
    mistake(
        "latin input", ["translate", "{run}", "{bad}/latin.txt", "--output", "{new}"], "latin.txt, line 2: not UTF-8"
    ),
    mistake("latin standard input", ["translate", "{run}"], "standard input, line 2: not UTF-8"),
    mistake("output is a folder", ["translate", "{run}", "--output", "{bad}"], "{bad}: is a folder"),
    mistake(
        "output is the input", ["translate", "{bad}", "{recipe}", "--output", "{recipe}"], "{recipe}: is read from"
    ),
    mistake("output in no folder", ["translate", "{run}", "--output", "{bad}/none/x"], "there is no folder {bad}/none"),
    mistake("full disk", ["translate", "{run}", "{recipe}", "--output", "/dev/full"], "/dev/full: the disk is full"),
    mistake("no beam", ["translate", "{run}", "--beam", "0"], "--beam", "greater than or equal to 1"),
    mistake("beam of text", ["translate", "{run}", "--beam", "wide"], "--beam", "integer"),
    mistake(
        "best above beam", ["translate", "{run}", "--json", "--beam", "2", "--n-best", "3"], "best is 3", "size is 2"
    ),
    mistake("no such engine", ["translate", "{run}", "--backend", "steam"], "--backend", "steam"),
    mistake("no such precision", ["translate", "{run}", "--precision", "int4"], "--precision", "int4"),
    mistake(
        "an engine that cannot",
        ["translate", "{recurrent}", "--backend", "ctranslate2", "--json"],
        "--backend ctranslate2",
        "model.encoder is recurrent",
        "model.decoder is bahdanau",
        "--json",
    ),
    mistake(
        "int8 and sampling",
        ["translate", "{run}", "--precision", "int8", "--set", "translate.search=sampling"],
        "--set",
    ),
    mistake("int8 and torch", ["translate", "{run}", "--precision", "int8", "--backend", "torch"], "--precision int8"),
    mistake("best unseen", ["translate", "{run}", "--n-best", "3"], "--n-best", "--json"),
    mistake("interactive file", ["translate", "{run}", "{recipe}", "--interactive"], "--interactive", "omit INPUT"),
    mistake(
        "interactive for programs",
        ["translate", "{run}", "--interactive", "--json", "--attention", "--top-tokens", "2", "--output", "{new}"],
        "--interactive reads from the terminal: omit --output, --json, --attention, --top-tokens, which are for",
    ),
    mistake("interactive lines", ["translate", "{run}", "-i", "--json-input"], "omit --json-input"),
    mistake("interactive paragraphs", ["translate", "{run}", "-i", "--paragraphs"], "omit --paragraphs"),
    mistake("interactive alignments", ["translate", "{run}", "-i", "--alignments", "{new}"], "omit --alignments"),
    mistake("interactive spans", ["translate", "{run}", "-i", "--protect", "urls"], "omit --protect", "be split"),
    mistake(
        "interactive elsewhere",
        ["translate", "{run}", "-i", "--backend", "ctranslate2", "--precision", "int8"],
        "omit --backend ctranslate2, --precision, which are for another backend",
    ),
    mistake("interactive language model", ["translate", "{language}", "-i"], "is a language model", "weft complete"),
    mistake("language unused", ["translate", "{run}", "--language", "de"], "--language", "add --paragraphs, or omit"),
    mistake(
        "no language",
        ["translate", "{run}", "{recipe}", "--paragraphs", "--language", "German", "--output", "{new}"],
        'language "German": not a language code. Use a code such as en, de or pt-BR',
    ),
    mistake(
        "latin paragraphs",
        ["translate", "{run}", "{bad}/latin.txt", "--paragraphs", "--output", "{new}"],
        "{bad}/latin.txt, line 2: not UTF-8",
    ),
    mistake(
        "no paragraphs", ["translate", "{run}", "{bad}/none.txt", "--paragraphs"], "none.txt: there is no such file"
    ),
    mistake(
        "paragraphs on a full disk",
        ["translate", "{run}", "{recipe}", "--paragraphs", "--output", "/dev/full"],
        "/dev/full: the disk is full",
    ),
    mistake(
        "weight of no language model",
        ["translate", "{run}", "--set", "translate.fusion.weight=0.5"],
        "--set translate.fusion.weight=0.5: there is no language model",
    ),
    mistake("no such setting", ["translate", "{run}", "--set", "translate.bem=2"], 'translate: unknown setting "bem"'),
    mistake("setting of training", ["translate", "{run}", "--set", "train.steps=2"], "train.steps", "translate."),
    mistake("translate elsewhere", ["translate", "{run}", "--device", "cuda:99"], "--device cuda:99 cannot be used"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
