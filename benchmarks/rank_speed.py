"""How fast one process trains, with one thread and with two, and how fast two processes do: `weft train` in turns.

From the root of the repository, with train.en and train.de in FOLDER:

    python -m benchmarks.rank_speed --data FOLDER
    python -m benchmarks.rank_speed --data FOLDER --rounds 5 --updates 40 --json figures.json

The recipe, the batches and the numbers are the same for all. The first update, before which everything is made, does
not count; nothing is validated. On a busy machine two ranks get more of it than one, and wait for each other: beside
the speed stand the seconds that processors worked for an update, which others hardly change.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.page import table
from benchmarks.spreads import Spread, between, spread
from benchmarks.telling import tell

from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"


class Way(NamedTuple):
    """ranks: processes; threads: of each."""

    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s' * (self.ranks > 1)} x {self.threads} thread{'s' * (self.threads > 1)}"


WAYS = (Way(1, 1), Way(2, 1), Way(1, 2))


class Turn(NamedTuple):
    """worked: seconds of processors; of a whole turn, or of an update."""

    tokens_per_second: float
    worked: float


def take_turn(way: Way, recipe: Path, settings: list[str], updates: int) -> Turn:
    """So many updates after the first, in processes of their own."""
    before = worked_for_children()
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        length = [f"train.steps={updates + 1}", f"train.log_every={updates + 1}"]
        weft = ["weft", "train", str(recipe), *settings, *length, "--out", str(out), "--device", "cpu"]
        torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(way.ranks), "-m"]
        command = [sys.executable, "-m", *(torchrun if way.ranks > 1 else []), *weft]
        threads = {"OMP_NUM_THREADS": str(way.threads)}
        done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"weft train on {way} ended with code {done.returncode}:\n{done.stderr}")
        return Turn(last_speed(out / "log.jsonl"), worked_for_children() - before)


def worked_for_children() -> float:
    """What processors have worked for all processes that this one has started, and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def last_speed(log: Path) -> float:
    """That of the last report of updates, which speaks of all after the first."""
    records = map(json.loads, log.read_text("utf-8").split("\n")[:-1])
    speed: float = [record["tokens_per_second"] for record in records if "tokens_per_second" in record][-1]
    return speed


def measure(recipe: Path, settings: list[str], updates: int, rounds: int) -> dict[Way, list[Turn]]:
    """Each way takes its turn in every round, in the other order in every other round.

    What it works before and after its updates is found by a turn of one update, and left out.
    """
    take_turn(WAYS[0], recipe, settings, 1)  # fills the cache
    around = {way: take_turn(way, recipe, settings, 1).worked for way in WAYS}
    found: dict[Way, list[Turn]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS[:: 1 if number % 2 == 0 else -1]:
            turn = take_turn(way, recipe, settings, updates)
            found[way].append(turn._replace(worked=(turn.worked - around[way]) / (updates - 1)))
            tell(f"round {number + 1}, {way}: {turn.tokens_per_second:,.0f} tokens/s")
    return found


def figures(found: Mapping[Way, list[Turn]]) -> dict[str, dict[str, Spread]]:
    """Of each way the tokens a second, how many times those of the first way they are within a round, and the work."""
    first = found[WAYS[0]]
    return {
        str(way): {
            "tokens_per_second": spread([turn.tokens_per_second for turn in turns]),
            "times_first": spread(
                [one.tokens_per_second / other.tokens_per_second for one, other in zip(turns, first, strict=True)]
            ),
            "worked": spread([turn.worked for turn in turns]),
        }
        for way, turns in found.items()
    }


def render(found: Mapping[str, Mapping[str, Spread]]) -> str:
    rows = [
        (
            way,
            between(one["tokens_per_second"], ",.0f"),
            between(one["times_first"], ".2f"),
            between(one["worked"], ".2f"),
        )
        for way, one in found.items()
    ]
    return table(("", "tokens/s", f"times {WAYS[0]}", "s of processors an update"), rows)


def main(
    data: Annotated[Path, typer.Option(help="Folder with train.en and train.de.")],
    recipe: Annotated[Path, typer.Option(help="What is trained.")] = RECIPE,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    updates: Annotated[int, typer.Option(min=2, help="Of each turn, after the first.")] = 30,
    json_file: JsonFile = None,
) -> None:
    """Measure what a second rank and a second thread bring."""
    with TemporaryDirectory() as cache:
        settings = [f"data.folder={data.absolute()}", f"data.cache={cache}", "data.train=[train.en, train.de]"]
        settings += ["data.valid=[]", "data.test=[]"]
        found = figures(measure(recipe, settings, updates, rounds))
    print(render(found), end="")
    report: dict[str, Any] = {"machine": machine(), "figures": found}
    write_json(json_file, report)


if __name__ == "__main__":
    run_command(main, "rank_speed")
