"""What validation translated: the same sentences, again and again, as the run goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from weft.store.run_log import History
from weft.watching.run import Watched


class Output(NamedTuple):
    """How a run translated a sentence at a step."""

    run: int
    step: int
    text: str


class Sample(NamedTuple):
    """A sentence, its reference, and all outputs, those of a run in the order of the steps."""

    source: str
    reference: str
    outputs: list[Output]


def samples_of(runs: Sequence[Watched]) -> list[Sample]:
    """Sentences that several runs translated are one sample."""
    found: dict[tuple[str, str], Sample] = {}
    for number, run in enumerate(runs):
        for step, example in examples_of(run.history):
            key = example["source"], example["target"]
            found.setdefault(key, Sample(*key, [])).outputs.append(Output(number, step, example["output"]))
    return list(found.values())


def examples_of(history: History) -> Iterator[tuple[int, dict[str, str]]]:
    """Every example of every validation, with its step."""
    for validation in history.validations:
        for example in validation.get("examples", []):
            if is_example(example):
                yield validation["step"], example


def is_example(node: Any) -> bool:
    return isinstance(node, dict) and all(isinstance(node.get(name), str) for name in ("source", "target", "output"))


def chosen(outputs: Sequence[Output], most: int) -> list[Output]:
    """Of one run: the first, the last, and some between them. Of several: the last of each."""
    runs = dict.fromkeys(output.run for output in outputs)
    if len(runs) > 1:
        return [[output for output in outputs if output.run == run][-1] for run in runs][:most]
    if most == 1 or len(outputs) <= most:
        return list(outputs[-most:])
    return [outputs[round(place * (len(outputs) - 1) / (most - 1))] for place in range(most)]
