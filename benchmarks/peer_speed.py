"""Training speed of Transformers: Weft against its peers, each run by its own command on the same tokens.

From the root of the repository:

    python -m benchmarks.peer_speed                                     # Tatoeba, which is downloaded
    python -m benchmarks.peer_speed --data FOLDER                       # train.en and train.de of Multi30k
    python -m benchmarks.peer_speed --data FOLDER --shape base --json speed.json

The peers are OpenNMT-py 3.5.1 and JoeyNMT 2.3.0, installed on first use with pinned versions, each into its own
environment; a peer that cannot be installed is skipped. Weft's tokenizer writes the training files as pieces, which all
toolkits read as words, with one vocabulary. The shapes are in peers/shapes.py, the settings of each toolkit in the
module of its name. All train in float32 with Adam, label smoothing 0.1 and the same number of tokens per batch, with
their own batching. `--precision` adds rows of Weft in other precisions; `--parts` adds a row with gradient accumulation
over that many smaller batches, which takes less memory.

In each round every toolkit runs in a new process, with as many warm-up updates as measured ones; every second round is
in reverse order, so that other load slows all equally. Tokens are target tokens without padding, EOS included, as
counted by each toolkit. The time is that of the updates with their batches, without start-up.
Before each round the matrix products of such a step are timed alone (peers/matmul_limit.py): they bound the speed of
any training, and the table shows the share of this limit that each toolkit reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import torch
import typer
from benchmarks.command_line import JsonFile, log, parse_names, run_command, write_json
from benchmarks.machine import machine
from benchmarks.peers import joeynmt, matmul_limit, opennmt, weft_toolkit
from benchmarks.peers.data import Pieces, download_recipe, read_recipe, write_pieces
from benchmarks.peers.environments import FOLDER
from benchmarks.peers.matmul_limit import SpeedLimit
from benchmarks.peers.report import Round, make_report, render
from benchmarks.peers.rounds import Comparison, installed, take_round
from benchmarks.peers.shapes import TRANSFORMERS, Transformer
from benchmarks.peers.toolkit import Toolkit, Training
from benchmarks.summary_statistics import format_range, summarize

RECIPE = "multi30k-en-de.yaml"
UPDATES = {"tiny": 20, "base": 4}
BATCH_TOKENS = {"tiny": 4096, "base": 2048}
SMOOTHING = 0.1
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


# --- Choices -------------------------------------------------------------------------------------------------------


def toolkits(only: str, precisions: str, parts: int = 1) -> list[Toolkit[Transformer]]:
    """Return the named toolkits; of Weft one per precision, and one with gradient accumulation if parts > 1."""
    variants = [
        weft_toolkit.transformer_toolkit(name) for name in parse_names(precisions, list(PRECISIONS), "precision")
    ]
    if parts > 1:
        variants.append(weft_toolkit.transformer_toolkit("float32", parts))
    peers = [opennmt.TRANSFORMER, joeynmt.TRANSFORMER]
    names = parse_names(only, [weft_toolkit.NAME, *(peer.name for peer in peers)], "toolkit")
    return [*(variants if weft_toolkit.NAME in names else []), *(peer for peer in peers if peer.name in names)]


def read_pieces(data: Path | None, vocabulary: int, environments: Path, folder: Path) -> Pieces:
    recipe = (
        download_recipe(RECIPE, environments, vocabulary) if data is None else read_recipe(RECIPE, data, vocabulary)
    )
    return write_pieces(recipe, folder)


# --- Measurement ---------------------------------------------------------------------------------------------------


def measure(comparison: Comparison[Transformer], rounds: int) -> tuple[list[Round], dict[str, list[SpeedLimit]]]:
    """Run all rounds; before each, measure the speed limit of each precision."""
    torch.set_num_threads(comparison.threads)
    step = matmul_limit.mean_step(comparison.pieces, comparison.training.batch_tokens)
    parts = matmul_limit.step_matmuls(comparison.training.shape, comparison.pieces.vocabulary, step)
    limits: dict[str, list[SpeedLimit]] = {toolkit.precision: [] for toolkit in comparison.toolkits}
    turns = []
    for number in range(rounds):
        for precision, found in limits.items():
            found.append(matmul_limit.measure(parts, step, PRECISIONS[precision]))
            message = f"{found[-1].tokens_per_second:,.0f} tokens/s would be possible in {precision}"
            log(f"round {number + 1} of {rounds}: {message}")
        turns.append(take_round(comparison, number))
    return turns, limits


# --- Report --------------------------------------------------------------------------------------------------------


def facts_of(comparison: Comparison[Transformer], rounds: int) -> dict[str, Any]:
    pieces, training = comparison.pieces, comparison.training
    return {
        **machine(),
        **asdict(training.shape),
        "batch_tokens": training.batch_tokens,
        "pairs": pieces.pairs,
        "target_tokens": pieces.target_tokens,
        "vocabulary": pieces.vocabulary,
        "rounds": rounds,
        "updates": training.updates,
    }


def heading(facts: Mapping[str, Any], rates: Mapping[str, Any]) -> list[str]:
    return [
        "Transformer, {layers} + {layers} layers, width {dim}, hidden {hidden}, {heads} heads, dropout {dropout}; "
        "batches of {batch_tokens:,} tokens with their padding, on {data}".format(**facts),
        "{pairs:,} pairs, {target_tokens:,} target tokens, {vocabulary:,} pieces".format(**facts),
        "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}".format(**facts),
        "rounds: {rounds}, with {updates} updates each, after as many to warm up".format(**facts),
        *(
            f"possible in {precision}: {format_range(rate['tokens_per_second'], ',.0f')} target tokens/s, "
            f"the products of a step alone at {format_range(rate['gigaflops'], ',.0f')} GFLOP/s"
            for precision, rate in rates.items()
        ),
    ]


def rates_of(limits: Mapping[str, Sequence[SpeedLimit]]) -> dict[str, Any]:
    return {
        precision: {
            "tokens_per_second": summarize([limit.tokens_per_second for limit in found]),
            "gigaflops": summarize([limit.gigaflops for limit in found]),
        }
        for precision, found in limits.items()
    }


def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder of train.en and train.de. Default: Tatoeba, downloaded.")
    ] = None,
    shape: Annotated[Literal["tiny", "base"], typer.Option(help="Size of the model.")] = "tiny",
    vocabulary: Annotated[int, typer.Option(min=300, help="Vocabulary size of the joint BPE.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    updates: Annotated[
        int | None, typer.Option(min=1, help="Measured updates per round, after as many to warm up.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    only: Annotated[str, typer.Option(help="Comma-separated toolkits.")] = "weft,opennmt,joeynmt",
    precision: Annotated[str, typer.Option(help="Comma-separated precisions of Weft's rows.")] = "float32",
    parts: Annotated[int, typer.Option(min=1, help="Gradient accumulation steps of an additional row of Weft.")] = 1,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of a Transformer in Weft and in its peers."""
    selected = toolkits(only, precision, parts)
    training = Training(TRANSFORMERS[shape], updates or UPDATES[shape], BATCH_TOKENS[shape], SMOOTHING)
    with TemporaryDirectory() as folder:
        pieces = read_pieces(data, vocabulary, environments, Path(folder))
        comparison = Comparison(installed(selected, environments), training, pieces, threads)
        turns, limits = measure(comparison, rounds)
    facts = {"shape": shape, "data": "Tatoeba" if data is None else str(data)} | facts_of(comparison, rounds)
    speeds = {precision: [limit.tokens_per_second for limit in found] for precision, found in limits.items()}
    weft = [toolkit.name for toolkit in comparison.toolkits if toolkit.pins is None]
    report = make_report(turns, weft, {toolkit.name: speeds[toolkit.precision] for toolkit in comparison.toolkits})
    rates = rates_of(limits)
    print(render(heading(facts, rates), report, weft))
    write_json(json_file, {"setting": facts, "possible": rates, "figures": report})


if __name__ == "__main__":
    run_command(main, "peer_speed")
