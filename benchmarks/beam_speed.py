"""Speed of batched beam search: Weft's torch backend against OpenNMT-py, Hugging Face transformers and CTranslate2.

From the root of the repository:

    python -m benchmarks.beam_speed                                     # random sentences
    python -m benchmarks.beam_speed --data FOLDER --json speed.json     # the test set of Multi30k, learned from train

All decode the same 1,000 tokenized sentences with beam 5 in float32, with the same weights of a Transformer-Tiny. The
weights are random: only speed matters. Every output has exactly 15 tokens and EOS, so all take 16 decoder steps. The
outputs of each engine are compared with those of Weft in the same search. Marian, the model of transformers, is
post-norm and is compared with a post-norm Weft model. Each engine is installed on first use with pinned versions into
its own environment; one that cannot be installed is skipped. beam_search/ has a module per engine, and
beam_search/workers/ the scripts that run in its environment.

Batches are the same for all and sorted by length: a number of sentences, or 4,096 tokens. For the latter Weft makes its
own, as `weft translate` does: a batch per thread in parallel, together of 4,096 tokens. Every turn is a new process;
every second round runs in reverse order, so that other load slows all equally. The time is that of decoding, without
loading and after two warm-up batches. In Weft it includes reading and writing text; the others receive ids. CTranslate2
runs with one worker per thread and with one worker; the better is shown for each batching, both are in the JSON file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.beam_search.engines import Engine, Search, engines
from benchmarks.beam_search.job import Batching, Job, Shape, read_answer
from benchmarks.beam_search.report import Place, Turn, fastest, make_report, render, same_outputs
from benchmarks.beam_search.sentences import Sentences, make_sentences, read_sentences
from benchmarks.beam_search.weft_model import MODEL, Weights, draw_weights, outputs, save
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.machine import machine
from benchmarks.peers.environments import FOLDER, NotInstalledError, python_of
from benchmarks.peers.processes import run

from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD

BEAM, TOKENS = 5, 15
SHAPE = Shape()
BATCHINGS = (
    Batching(1, "sentences"),
    Batching(32, "sentences"),
    Batching(128, "sentences"),
    Batching(4096, "tokens"),
)


class Task(NamedTuple):
    """The sentences and weights for all engines, and the number of threads."""

    sentences: Sentences
    weights: Weights
    threads: int

    def job(self, engine: Engine, batching: Batching) -> Job:
        tokenizer = self.sentences.tokenizer
        return Job(
            shape=SHAPE,
            vocabulary=tokenizer.size,
            batching=batching,
            batches=self.sentences.batches(batching),
            beam=BEAM,
            tokens=TOKENS,
            workers=engine.workers,
            threads=self.threads // engine.workers,
            pad=PAD,
            begin=BOS,
            end=EOS,
            unknown=NUM_SPECIAL_TOKENS,  # of a tokenizer of this kind
        )


# --- Measurement ---------------------------------------------------------------------------------------------------


def installed(candidates: Sequence[Engine], folder: Path) -> dict[Engine, Path]:
    """Return the engines that can be installed, each with its Python interpreter."""
    found: dict[Engine, Path] = {}
    for engine in candidates:
        log(f"{engine.label}: preparing its environment")
        try:
            found[engine] = python_of(engine.pins, folder)
        except NotInstalledError as error:
            log(f"{engine.label} is left out: {error}")
    return found


def expect(task: Task, search: Search) -> list[list[int]]:
    """Return Weft's outputs in this search."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / MODEL
        save(model, SHAPE, task.sentences.tokenizer, task.weights, search.norm)
        return outputs(model, task.sentences.rows, TOKENS + search.extra, BEAM, end=search.end)


def measure(found: Mapping[Engine, Path], task: Task, rounds: int) -> dict[Place, list[Turn]]:
    """Run every engine with every batching in each round."""
    expected = {search: expect(task, search) for search in {engine.search for engine in found}}
    turns: dict[Place, list[Turn]] = {(engine.label, batching.name): [] for engine in found for batching in BATCHINGS}
    for number in range(rounds):
        order = 1 if number % 2 == 0 else -1
        for batching in BATCHINGS:
            for engine in list(found)[::order]:
                turn = take_turn(engine, found[engine], task, batching, expected[engine.search])
                turns[engine.label, batching.name].append(turn)
                message = f"{engine.label}, batches of {batching.name}: {turn.tokens_per_second:,.0f} tokens/s"
                log(f"round {number + 1} of {rounds}: {message}")
    return turns


def take_turn(engine: Engine, python: Path, task: Task, batching: Batching, expected: list[list[int]]) -> Turn:
    """Run an engine in a temporary folder and return its figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        engine.write_weights(folder, task.weights, SHAPE, task.sentences.tokenizer)
        task.job(engine, batching).write(folder)
        result = run(engine.label, engine.command(python), folder, task.threads)
        answer = read_answer(folder)
    tokens = len(task.sentences.rows) * (TOKENS + 1)
    return Turn(tokens / answer.seconds, result.peak, same_outputs(answer.outputs, expected))


# --- Report --------------------------------------------------------------------------------------------------------


def heading(facts: Mapping[str, Any]) -> list[str]:
    return [
        "Beam {beam}, outputs of {tokens} tokens and EOS, float32; {sentences:,} sentences of {mean:.1f} "
        "pieces, {data}".format(**facts),
        "Transformer of {layers} + {layers} layers, width {dim}, hidden {hidden}, {heads} heads, {vocabulary:,} ids; "
        "random weights".format(**facts),
        "{cpu}, cores: {cores}, threads: {threads}, torch {torch}, Python {python}; rounds: {rounds}".format(**facts),
    ]


def facts_of(task: Task, data: Path | None, rounds: int) -> dict[str, Any]:
    rows = task.sentences.rows
    return {
        **machine(),
        "threads": task.threads,
        "beam": BEAM,
        "tokens": TOKENS,
        "sentences": len(rows),
        "mean": sum(map(len, rows)) / len(rows),
        "data": "random" if data is None else f"from {data}",
        "layers": SHAPE.layers,
        "dim": SHAPE.dim,
        "hidden": SHAPE.hidden,
        "heads": SHAPE.heads,
        "vocabulary": task.sentences.tokenizer.size,
        "rounds": rounds,
    }


def main(
    data: Annotated[Path | None, typer.Option(help="Folder of Multi30k: train.en, train.de and its test set.")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Number of sentences.")] = 1000,
    vocabulary: Annotated[int, typer.Option(min=300, help="Vocabulary size of the joint BPE.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the speed of beam search in Weft and in its peers."""
    read = make_sentences(vocabulary, sentences) if data is None else read_sentences(data, vocabulary, sentences)
    task = Task(read, draw_weights(SHAPE, read.tokenizer), threads)
    found = installed(engines(threads), environments)
    report = make_report(measure(found, task, rounds), engines(threads)[0].label)
    best = fastest(report, {engine.label: engine.name for engine in found})
    facts = facts_of(task, data, rounds)
    print(render(heading(facts), best, len(read.rows)))
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "beam_speed")
