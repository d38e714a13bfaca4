"""Training speed of recurrent models: Weft against its peers, each run by its own command on the same tokens.

From the root of the repository:

    python -m benchmarks.recurrent_speed --data FOLDER                  # train.de and train.en of Multi30k
    python -m benchmarks.recurrent_speed --data FOLDER --score additive --cell gru --json speed.json

The peers are JoeyNMT 2.3.0 and OpenNMT-py 3.5.1, installed on first use with pinned versions, each into its own
environment; a peer that cannot be installed is skipped. Weft's tokenizer writes the training files as pieces, which all
toolkits read as words, with one vocabulary. The shape is in peers/shapes.py, the settings of each toolkit in the module
of its name; parameter counts differ only by biases. All train in float32 with Adam and the same tokens per batch.

In each round every toolkit runs in a new process, with as many warm-up updates as measured ones; every second round is
in reverse order, so that other load slows all equally. Tokens are target tokens without padding, EOS included, as
counted by each toolkit. The time is that of the updates with their batches, without start-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.peers import joeynmt, opennmt, weft_toolkit
from benchmarks.peers.data import Pieces, read_recipe, write_pieces
from benchmarks.peers.environments import FOLDER
from benchmarks.peers.report import make_report, render
from benchmarks.peers.rounds import Comparison, installed, take_round
from benchmarks.peers.shapes import Cell, Recurrent, Score
from benchmarks.peers.toolkit import Training

RECIPE = "multi30k-de-en-luong.yaml"
TOOLKITS = (weft_toolkit.RECURRENT, opennmt.RECURRENT, joeynmt.RECURRENT)


def heading(facts: Mapping[str, Any]) -> list[str]:
    return [
        "{cell}, {score} score, embedding {embedding}, encoder 2 x {hidden}, decoder {decoder}, on {data}".format(
            **facts
        ),
        "{pairs:,} pairs, {target_tokens:,} target tokens, {vocabulary:,} pieces".format(**facts),
        "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}".format(**facts),
        "rounds: {rounds}, with {updates} updates each, after as many to warm up".format(**facts),
    ]


def facts_of(training: Training[Recurrent], pieces: Pieces, rounds: int) -> dict[str, Any]:
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
    score: Annotated[Score, typer.Option(help="Attention score.")] = "general",
    vocabulary: Annotated[int, typer.Option(min=300, help="Vocabulary size of the joint BPE.")] = 8000,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    updates: Annotated[int, typer.Option(min=1, help="Measured updates per round, after as many to warm up.")] = 20,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of a recurrent model in Weft and in its peers."""
    training = Training(Recurrent(cell=cell, score=score), updates)
    with TemporaryDirectory() as folder:
        pieces = write_pieces(read_recipe(RECIPE, data, vocabulary), Path(folder))
        comparison = Comparison(installed(TOOLKITS, environments), training, pieces, threads)
        turns = [take_round(comparison, number) for number in range(rounds)]
    facts = {"data": str(data)} | machine() | {"threads": threads} | facts_of(training, pieces, rounds)
    report = make_report(turns, [weft_toolkit.NAME], {})
    print(render(heading(facts), report, [weft_toolkit.NAME]))
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "recurrent_speed")
