"""Training speed of Transformers: Weft beside its peers, each by its own command, on the same tokens.

From the root of the repository:

    python -m benchmarks.peer_speed                                     # Tatoeba, which is fetched
    python -m benchmarks.peer_speed --data FOLDER                       # train.en and train.de of Multi30k
    python -m benchmarks.peer_speed --data FOLDER --shape base --json speed.json

The peers are OpenNMT-py 3.5.1 and JoeyNMT 2.3.0, installed on first use with pinned versions, each into an environment
of its own; one that cannot be installed is left out. Weft's tokenizer writes the training files as pieces, which all
read as words, with one vocabulary. The shapes are in peers/shapes.py, and how each toolkit is told them in a file of
its name. All train in float32 with Adam, smoothing 0.1 and the same budget of tokens a batch, with the batches that
each makes itself. `--precision` adds rows of Weft in other numbers, `--parts` one in which each update is made of that
many smaller batches (`train.gradient_accumulation`), which takes less memory.

In each round every toolkit is started anew and makes as many updates to warm up as are measured; every second round
runs in the opposite order, so that a busy machine slows all. Tokens are real target tokens, end marks included, never
padding; each toolkit counts them itself, and its loss too. The time is that of the updates with their batches, without
start-up. Before each round the products of matrices of such a step are timed alone (peers/possible.py): no training
that computes them can be faster, and the table says what share of that speed each toolkit reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import torch
import typer
from benchmarks.choosing import chosen
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.peers import joeynmt, opennmt, ours, possible
from benchmarks.peers.data import Pieces, write_pieces
from benchmarks.peers.environments import FOLDER
from benchmarks.peers.measuring import Race, installed, take_round
from benchmarks.peers.possible import Possible
from benchmarks.peers.report import Round, make_report, render
from benchmarks.peers.shapes import TRANSFORMERS, Transformer
from benchmarks.peers.tasks import Toolkit, Training
from benchmarks.peers.texts import fetched_recipe, read_recipe
from benchmarks.spreads import between, spread
from benchmarks.telling import tell

RECIPE = "multi30k-en-de.yaml"
UPDATES = {"tiny": 20, "base": 4}
BATCH_TOKENS = {"tiny": 4096, "base": 2048}
SMOOTHING = 0.1
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


# --- Choices -------------------------------------------------------------------------------------------------------


def toolkits(only: str, precisions: str, parts: int = 1) -> list[Toolkit[Transformer]]:
    """Those of these names, with commas between them; of Weft one for each precision, and one that takes parts."""
    ways = [ours.transformer_toolkit(name) for name in chosen(precisions, list(PRECISIONS), "precision")]
    if parts > 1:
        ways.append(ours.transformer_toolkit("float32", parts))
    peers = [opennmt.TRANSFORMER, joeynmt.TRANSFORMER]
    names = chosen(only, [ours.NAME, *(peer.name for peer in peers)], "toolkit")
    return [*(ways if ours.NAME in names else []), *(peer for peer in peers if peer.name in names)]


def read_pieces(data: Path | None, vocabulary: int, environments: Path, folder: Path) -> Pieces:
    recipe = fetched_recipe(RECIPE, environments, vocabulary) if data is None else read_recipe(RECIPE, data, vocabulary)
    return write_pieces(recipe, folder)


# --- Measurement ---------------------------------------------------------------------------------------------------


def measure(race: Race[Transformer], rounds: int) -> tuple[list[Round], dict[str, list[Possible]]]:
    """The turns of each round, and before it what would be possible in each precision."""
    torch.set_num_threads(race.threads)
    step = possible.mean_step(race.pieces, race.training.batch_tokens)
    parts = possible.products(race.training.shape, race.pieces.vocabulary, step)
    limits: dict[str, list[Possible]] = {toolkit.precision: [] for toolkit in race.toolkits}
    turns = []
    for number in range(rounds):
        for precision, found in limits.items():
            found.append(possible.measure(parts, step, PRECISIONS[precision]))
            told = f"{found[-1].tokens_per_second:,.0f} tokens/s would be possible in {precision}"
            tell(f"round {number + 1} of {rounds}: {told}")
        turns.append(take_round(race, number))
    return turns, limits


# --- Report --------------------------------------------------------------------------------------------------------


def facts_of(race: Race[Transformer], rounds: int) -> dict[str, Any]:
    pieces, training = race.pieces, race.training
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
            f"possible in {precision}: {between(rate['tokens_per_second'], ',.0f')} target tokens/s, "
            f"the products of a step alone at {between(rate['gigaflops'], ',.0f')} GFLOP/s"
            for precision, rate in rates.items()
        ),
    ]


def rates_of(limits: Mapping[str, Sequence[Possible]]) -> dict[str, Any]:
    return {
        precision: {
            "tokens_per_second": spread([one.tokens_per_second for one in found]),
            "gigaflops": spread([one.gigaflops for one in found]),
        }
        for precision, found in limits.items()
    }


def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder of train.en and train.de. Default: Tatoeba, fetched.")
    ] = None,
    shape: Annotated[Literal["tiny", "base"], typer.Option(help="Of the model.")] = "tiny",
    vocabulary: Annotated[int, typer.Option(min=300, help="Pieces of the joint BPE.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    updates: Annotated[int | None, typer.Option(min=1, help="Measured in a round; as many come before.")] = None,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    only: Annotated[str, typer.Option(help="The toolkits, with commas between them.")] = "weft,opennmt,joeynmt",
    precision: Annotated[str, typer.Option(help="Of Weft's rows, with commas between them.")] = "float32",
    parts: Annotated[
        int, typer.Option(min=1, help="Of a batch in one more row of Weft: less memory, the same updates.")
    ] = 1,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of a Transformer in Weft and in its peers."""
    wanted = toolkits(only, precision, parts)
    training = Training(TRANSFORMERS[shape], updates or UPDATES[shape], BATCH_TOKENS[shape], SMOOTHING)
    with TemporaryDirectory() as folder:
        pieces = read_pieces(data, vocabulary, environments, Path(folder))
        race = Race(installed(wanted, environments), training, pieces, threads)
        turns, limits = measure(race, rounds)
    facts = {"shape": shape, "data": "Tatoeba" if data is None else str(data)} | facts_of(race, rounds)
    speeds = {precision: [one.tokens_per_second for one in found] for precision, found in limits.items()}
    weft = [toolkit.name for toolkit in race.toolkits if toolkit.pins is None]
    report = make_report(turns, weft, {toolkit.name: speeds[toolkit.precision] for toolkit in race.toolkits})
    rates = rates_of(limits)
    print(render(heading(facts, rates), report, weft))
    write_json(json_file, {"setting": facts, "possible": rates, "figures": report})


if __name__ == "__main__":
    run_command(main, "peer_speed")
