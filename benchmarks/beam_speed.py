"""Speed of batched beam search: Weft's torch engine beside OpenNMT-py, Hugging Face transformers and CTranslate2.

From the root of the repository:

    python -m benchmarks.beam_speed                                     # made sentences
    python -m benchmarks.beam_speed --data FOLDER --json speed.json     # the test set of Multi30k, learned from train

All decode the same 1,000 sentences of pieces with a beam of 5, in float32, with a Transformer-Tiny of the same weights.
The weights are drawn, not trained: this is about speed alone. Every output is made to have 15 tokens and the end mark,
so all take 16 steps of the decoder. What the engines say is compared, token by token, with what Weft says in the same
search; Marian, the model of transformers, has its norms after the layers, and is compared with a Weft model that has
them there too. The engines are installed on first use with pinned versions, each into an environment of its own; one
that cannot be installed is left out. beams/ has a file for each, and workers/ what runs in it.

Batches are the same for all, of sentences of about one length: some sentences, or as many as have 4,096 tokens. Of the
latter Weft makes its own, as `weft translate` does: a batch for each thread, side by side, together of 4,096 tokens. An
engine is started anew for every turn; every second round runs in the opposite order, so that a busy machine slows all.
The time is that of decoding, without loading and after two batches to warm up; in Weft it includes reading lines and
writing them, the others are given ids. CTranslate2 has as many workers as there are threads, or one that has them all:
at each batching the better of the two is shown, and both are in the JSON file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.beams.engines import Engine, Search, engines
from benchmarks.beams.job import Batching, Job, Shape, read_answer
from benchmarks.beams.ours import MODEL, Weights, draw_weights, outputs, save
from benchmarks.beams.report import Place, Turn, fastest, make_report, render, same_outputs
from benchmarks.beams.sentences import Sentences, make_sentences, read_sentences
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.peers.environments import FOLDER, NotInstalledError, python_of
from benchmarks.peers.processes import run
from benchmarks.telling import tell

from weft.core.codec import BOS, EOS, NUM_SPECIAL_TOKENS, PAD

BEAM, TOKENS = 5, 15
SHAPE = Shape()
BATCHINGS = (
    Batching(1, "sentences"),
    Batching(32, "sentences"),
    Batching(128, "sentences"),
    Batching(4096, "tokens"),
)


class Task(NamedTuple):
    """What all engines decode, with how many threads."""

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


def installed(wanted: Sequence[Engine], folder: Path) -> dict[Engine, Path]:
    """The engines that are or can be installed, each with its Python."""
    found: dict[Engine, Path] = {}
    for engine in wanted:
        tell(f"{engine.label}: looking for its environment, or making it")
        try:
            found[engine] = python_of(engine.pins, folder)
        except NotInstalledError as error:
            tell(f"{engine.label} is left out: {error}")
    return found


def expect(task: Task, search: Search) -> list[list[int]]:
    """What Weft says in this search."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / MODEL
        save(model, SHAPE, task.sentences.tokenizer, task.weights, search.norm)
        return outputs(model, task.sentences.rows, TOKENS + search.extra, BEAM, end=search.end)


def measure(found: Mapping[Engine, Path], task: Task, rounds: int) -> dict[Place, list[Turn]]:
    """Rounds in which, for each batching, every engine takes its turn."""
    expected = {search: expect(task, search) for search in {engine.search for engine in found}}
    turns: dict[Place, list[Turn]] = {(engine.label, one.name): [] for engine in found for one in BATCHINGS}
    for number in range(rounds):
        order = 1 if number % 2 == 0 else -1
        for batching in BATCHINGS:
            for engine in list(found)[::order]:
                turn = take_turn(engine, found[engine], task, batching, expected[engine.search])
                turns[engine.label, batching.name].append(turn)
                told = f"{engine.label}, batches of {batching.name}: {turn.tokens_per_second:,.0f} tokens/s"
                tell(f"round {number + 1} of {rounds}: {told}")
    return turns


def take_turn(engine: Engine, python: Path, task: Task, batching: Batching, expected: list[list[int]]) -> Turn:
    """One process, of which nothing stays but its figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        engine.write_weights(folder, task.weights, SHAPE, task.sentences.tokenizer)
        task.job(engine, batching).write(folder)
        ran = run(engine.label, engine.command(python), folder, task.threads)
        answer = read_answer(folder)
    tokens = len(task.sentences.rows) * (TOKENS + 1)
    return Turn(tokens / answer.seconds, ran.peak, same_outputs(answer.outputs, expected))


# --- Report --------------------------------------------------------------------------------------------------------


def heading(facts: Mapping[str, Any]) -> list[str]:
    return [
        "Beam {beam}, outputs of {tokens} tokens and the end mark, float32; {sentences:,} sentences of {mean:.1f} "
        "pieces, {data}".format(**facts),
        "Transformer of {layers} + {layers} layers, width {dim}, hidden {hidden}, {heads} heads, {vocabulary:,} ids; "
        "weights are drawn, not trained".format(**facts),
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
        "data": "made" if data is None else f"from {data}",
        "layers": SHAPE.layers,
        "dim": SHAPE.dim,
        "hidden": SHAPE.hidden,
        "heads": SHAPE.heads,
        "vocabulary": task.sentences.tokenizer.size,
        "rounds": rounds,
    }


def main(
    data: Annotated[Path | None, typer.Option(help="Folder of Multi30k: train.en, train.de and its test set.")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="How many are decoded.")] = 1000,
    vocabulary: Annotated[int, typer.Option(min=300, help="Pieces of the joint BPE.")] = 10_000,
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
