"""Mistakes with `weft inspect`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

ATTENTION = ["inspect", "attention", "{run}", "--output", "{new}.png"]
GATES = ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.png"]

MISTAKES = [
    mistake("inspect what", ["inspect", "{run}", "a cat"], "No such command"),
    mistake("attention of nothing", ["inspect", "attention", "{run}"], "Missing argument 'SENTENCE'"),
    mistake(
        "attention of no model", ["inspect", "attention", "{bad}/none", "a cat"], "{bad}/none: there is no such folder"
    ),
    mistake(
        "empty sentence",
        [*ATTENTION, " "],
        'the sentence is empty: write one in quotation marks, such as "A man sleeps."',
    ),
    mistake("sentence without marks", [*ATTENTION, "a", "cat"], "unexpected extra argument", "cat"),
    mistake(
        "no kind of picture",
        ["inspect", "attention", "{run}", "a cat", "--output", "{new}.jpg"],
        "{new}.jpg: unknown figure format; use a name that ends with .png, .svg or .pdf",
    ),
    mistake(
        "attention over its picture",
        ["inspect", "attention", "{bad}", "{recipe}", "--output", "{recipe}"],
        "{recipe}: is read from",
    ),
    mistake(
        "frames over their picture",
        ["inspect", "frames", "{bad}", "{recipe}", "--output", "{recipe}"],
        "{recipe}: is read from",
    ),
    mistake(
        "picture in no folder",
        ["inspect", "attention", "{run}", "a cat", "--output", "{bad}/none/x.png"],
        "there is no folder {bad}/none",
    ),
    mistake("no layer 0", [*ATTENTION, "a cat", "--layer", "0"], "--layer", "greater than or equal to 1"),
    mistake("no such layer", [*ATTENTION, "a cat", "--layer", "2"], "--layer 2: this decoder has layers 1 to 1"),
    mistake(
        "no such head", [*ATTENTION, "a cat", "--layer", "1", "--head", "3"], "--head 3: this layer has heads 1 to 2"
    ),
    mistake("head of no layer", [*ATTENTION, "a cat", "--head", "1"], "--head 1: the layer is missing", "--layer N"),
    mistake(
        "layer of a recurrent model",
        ["inspect", "attention", "{recurrent}", "a cat", "--output", "{new}.png", "--layer", "1"],
        "this model has one attention with one head: leave out --layer and --head",
    ),
    mistake(
        "attention with another setting",
        [*ATTENTION, "a cat", "--set", "train.steps=2"],
        "train.steps",
        "translate.",
    ),
    mistake(
        "gates of a Transformer",
        ["inspect", "gates", "{run}", "a cat", "--output", "{new}.png"],
        "this model has no recurrent cells",
        "weft inspect attention",
    ),
    mistake(
        "gradients of a Transformer",
        ["inspect", "gradients", "{run}", "a cat", "--output", "{new}.png"],
        "this model has no recurrent cells",
        "weft inspect attention",
    ),
    mistake("gates of nothing", ["inspect", "gates", "{recurrent}", "", "--output", "{new}.png"], "sentence is empty"),
    mistake("gradients of nothing", ["inspect", "gradients", "{recurrent}", " "], "the sentence is empty"),
    mistake("gates of no model", ["inspect", "gates", "{bad}/none", "a cat"], "{bad}/none: there is no such folder"),
    mistake("gradients of no model", ["inspect", "gradients", "{bad}", "a cat"], "{bad} is not a model folder"),
    mistake(
        "no kind of gates",
        ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.txt"],
        "{new}.txt: unknown figure format; use a name that ends with .png, .svg or .pdf",
    ),
    mistake(
        "no kind of gradients",
        ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{new}"],
        "{new}: unknown figure format; use a name that ends with .png, .svg or .pdf",
    ),
    mistake(
        "gradients in no folder",
        ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{bad}/none/x.png"],
        "there is no folder {bad}/none",
    ),
    mistake(
        "no kind of tree",
        ["inspect", "search", "{run}", "a cat", "--text", "--output", "{new}.txt"],
        "{new}.txt: unknown figure format; use a name that ends with .png, .svg or .pdf",
    ),
    mistake("tree of nothing", ["inspect", "search", "{run}", " "], "the sentence is empty"),
    mistake("tree of a language model", ["inspect", "search", "{language}", "a cat"], "is a language model"),
    mistake("no side", [*GATES, "--side", "middle"], "'middle' is not one of 'encoder', 'decoder'"),
    mistake(
        "no such place",
        [*GATES, "--module", "encoder.1"],
        "no gates at encoder.1: this model has gates at encoder.0.forward, encoder.0.backward, decoder",
    ),
    mistake(
        "a place of the other side",
        [*GATES, "--side", "encoder", "--module", "decoder"],
        "no gates at decoder in encoder: this model has gates at encoder.0.forward",
    ),
    mistake(
        "units of several gates",
        [*GATES, "--units", "--module", "decoder"],
        "--units shows one gate: select it with --module, as one of decoder.reset, decoder.update",
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
