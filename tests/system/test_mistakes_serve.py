"""Mistakes with `weft serve`."""

import socket
from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

MISTAKES = [
    mistake("nothing", ["serve"], "There is nothing to serve", "weft serve RUN...", "--training RUN"),
    mistake("training of a model", ["serve", "--training", "{run}/best"], "{run}/best: is a model folder"),
    mistake("training of a file", ["serve", "{run}", "--training", "{recipe}"], "{recipe}: is a file", "--out"),
    mistake("training twice", ["serve", "--training", "{run}", "--training", "{run}"], "{run} is given twice"),
    mistake("no model", ["serve", "{bad}/none", "--languages", "en:de", "--port", "0"], "{bad}/none: there is no such"),
    mistake("no folder of a model", ["serve", "{bad}"], "{bad} is not a model folder"),
    mistake("flipped", ["serve", "{flipped}", "--port", "0"], "{flipped}/weights.safetensors: is damaged"),
    mistake("a language model", ["serve", "{language}", "--languages", "en:de", "--port", "0"], "is a language model"),
    mistake("wrong languages", ["serve", "{run}", "--languages", "english"], "--languages english", "en:de"),
    mistake("too few languages", ["serve", "{run}", "{recurrent}", "--languages", "en:de"], "1 times for 2 models"),
    mistake("no such limit", ["serve", "{run}", "--limit", "speed=1"], '--limit speed=1: there is no limit "speed"'),
    mistake("no limit at all", ["serve", "{run}", "--limit", "queue=none"], "--limit queue=none", "whole number"),
    mistake("beam above its limit", ["serve", "{run}", "--beam", "5", "--limit", "beam=3"], "--beam 5", "beam=3"),
    mistake("no keys", ["serve", "{run}", "--api-keys", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("short keys", ["serve", "{run}", "--api-keys", "{recipe}"], "{recipe}, line", "at least 16"),
    mistake("no such host", ["serve", "{run}", "--host", "256.1.1.1"], "--host 256.1.1.1", "cannot listen there"),
    mistake(
        "no name",
        ["serve", "{run}", "--allowed-host", "http://a.b"],
        "--allowed-host http://a.b",
        "translate.example.org",
    ),
    mistake("no such port", ["serve", "{run}", "--port", "70000"], "--port", "65535"),
    mistake(
        "an engine that cannot",
        ["serve", "{recurrent}", "--backend", "ctranslate2", "--port", "0"],
        "--backend ctranslate2",
        "model.decoder is bahdanau",
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)


def test_a_port_that_is_taken_is_told(check: Callable[[Mistake], None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        check(mistake("taken", ["serve", "{run}", "--port", port], f"--port {port}: cannot listen there"))
