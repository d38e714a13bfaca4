"""Training speed of recurrent models: Weft beside its peers, each by its own command, on the same tokens.

From the root of the repository:

    python -m benchmarks.recurrent_speed --data FOLDER                  # train.de and train.en of Multi30k
    python -m benchmarks.recurrent_speed --data FOLDER --score additive --cell gru --json speed.json

The peers are JoeyNMT 2.3.0 and OpenNMT-py 3.5.1, installed on first use with pinned versions, each into an environment
of its own; one that cannot be installed is left out. Weft's tokenizer writes the training files as pieces, which all
read as words, with one vocabulary. The shape is in peers/tasks.py, and how each toolkit is told it in a file of its
name; parameter counts differ by biases alone. All train in float32 with Adam and the same budget of tokens a batch.

In each round every toolkit is started anew and makes as many updates to warm up as are measured; every second round
runs in the opposite order, so that a busy machine slows all. Tokens are real target tokens, end marks included, never
padding, as each toolkit counts them itself; the time is that of the updates with their batches, without start-up.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.peers.data import Pieces, write_pieces
from benchmarks.peers.environments import FOLDER, NotInstalledError, python_of
from benchmarks.peers.joeynmt import JOEYNMT
from benchmarks.peers.opennmt import OPENNMT
from benchmarks.peers.ours import WEFT
from benchmarks.peers.processes import run
from benchmarks.peers.report import Rounds, Turn, make_report, render
from benchmarks.peers.tasks import Cell, Job, Recurrent, Score, Toolkit, Training

TOOLKITS = (WEFT, OPENNMT, JOEYNMT)


# --- Measurement ---------------------------------------------------------------------------------------------------


def installed(folder: Path) -> dict[Toolkit, Path]:
    """The toolkits that are or can be installed, each with its Python."""
    found: dict[Toolkit, Path] = {}
    for toolkit in TOOLKITS:
        tell(f"{toolkit.name}: looking for its environment, or making it")
        try:
            found[toolkit] = python_of(toolkit.pins, folder)
        except NotInstalledError as error:
            tell(f"{toolkit.name} is left out: {error}")
    return found


def measure(toolkits: Mapping[Toolkit, Path], training: Training, pieces: Pieces, rounds: int, threads: int) -> Rounds:
    """Rounds in which each toolkit takes its turn."""
    turns: Rounds = {toolkit.name: [] for toolkit in toolkits}
    for number in range(rounds):
        order = 1 if number % 2 == 0 else -1
        for toolkit in list(toolkits)[::order]:
            turn = take_turn(toolkit, toolkits[toolkit], training, pieces, threads)
            turns[toolkit.name].append(turn)
            tell(f"round {number + 1} of {rounds}: {toolkit.name} {turn.figures.tokens_per_second:,.0f} tokens/s")
    return turns


def take_turn(toolkit: Toolkit, python: Path, training: Training, pieces: Pieces, threads: int) -> Turn:
    """One training run, of which nothing stays but its figures."""
    with TemporaryDirectory() as folder:
        job = Job(training, pieces, Path(folder))
        ran = run(toolkit.name, [str(python), *toolkit.training.command(job)], job.folder, threads)
        return Turn(toolkit.training.read(job, ran.output), ran.peak)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- Report --------------------------------------------------------------------------------------------------------


def machine(threads: int) -> dict[str, Any]:
    """Weft's torch is told: the peers have the pinned one."""
    cores = os.cpu_count() or 1
    return {"cores": cores, "threads": threads, "torch": version("torch"), "python": platform.python_version()}


def heading(facts: Mapping[str, Any]) -> Sequence[str]:
    return [
        "{cell}, {score} score, embedding {embedding}, encoder 2 x {hidden}, decoder {decoder}, on {data}".format(
            **facts
        ),
        "{pairs:,} pairs, {target_tokens:,} target tokens, {vocabulary:,} pieces".format(**facts),
        "{cores} cores, {threads} threads, torch {torch}, Python {python}".format(**facts),
        "rounds: {rounds}, with {updates} updates each, after as many to warm up".format(**facts),
    ]


def facts_of(training: Training, pieces: Pieces, rounds: int) -> dict[str, Any]:
    shape = training.shape
    return {
        "cell": shape.cell,
        "score": shape.score,
        "embedding": shape.embedding,
        "hidden": shape.hidden,
        "decoder": shape.decoder,
        "dropout": shape.dropout,
        "batch_tokens": training.batch_tokens,
        "pairs": pieces.pairs,
        "target_tokens": pieces.target_tokens,
        "vocabulary": pieces.vocabulary,
        "rounds": rounds,
        "updates": training.updates,
    }


def main(
    data: Annotated[Path, typer.Option(help="Folder of train.de and train.en.")],
    cell: Annotated[Cell, typer.Option()] = "lstm",
    score: Annotated[Score, typer.Option(help="Of attention.")] = "general",
    vocabulary: Annotated[int, typer.Option(min=300, help="Pieces of the joint BPE.")] = 8000,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    updates: Annotated[int, typer.Option(min=1, help="Updates measured in a round; as many come before.")] = 20,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of a recurrent model in Weft and in its peers."""
    training = Training(Recurrent(cell=cell, score=score), updates)
    with TemporaryDirectory() as folder:
        pieces = write_pieces(data, vocabulary, Path(folder))
        turns = measure(installed(environments), training, pieces, rounds, threads)
    facts = {"data": str(data)} | machine(threads) | facts_of(training, pieces, rounds)
    report = make_report(turns, WEFT.name)
    print(render(heading(facts), report, WEFT.name))
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "recurrent_speed")
