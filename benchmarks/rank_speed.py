"""Training speed of `weft train` with one process of one thread, two processes, and one process of two threads.

From the root of the repository, with train.en and train.de in FOLDER:

    python -m benchmarks.rank_speed --data FOLDER
    python -m benchmarks.rank_speed --data FOLDER --rounds 5 --updates 40 --json figures.json

Recipe, batches and precision are the same for all. The first update, which includes start-up, does not count; there is
no validation. On a busy machine two ranks get a larger share of it and wait for each other. So the table also shows the
CPU seconds per update, which other load hardly changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.file_translation.process_timing import children_cpu_seconds
from benchmarks.machine import machine
from benchmarks.markdown import table
from benchmarks.summary_statistics import Summary, format_range, summarize

from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"


class Layout(NamedTuple):
    """Number of processes, and threads of each."""

    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s' * (self.ranks > 1)} x {self.threads} thread{'s' * (self.threads > 1)}"


LAYOUTS = (Layout(1, 1), Layout(2, 1), Layout(1, 2))


class Turn(NamedTuple):
    """CPU seconds are those of the whole turn, or of one update."""

    tokens_per_second: float
    cpu_seconds: float


def take_turn(layout: Layout, recipe: Path, settings: list[str], updates: int) -> Turn:
    """Train for `updates` updates after the first, in new processes."""
    before = children_cpu_seconds()
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        length = [f"train.steps={updates + 1}", f"train.log_every={updates + 1}"]
        weft = ["weft", "train", str(recipe), *settings, *length, "--out", str(out), "--device", "cpu"]
        torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(layout.ranks), "-m"]
        command = [sys.executable, "-m", *(torchrun if layout.ranks > 1 else []), *weft]
        threads = {"OMP_NUM_THREADS": str(layout.threads)}
        done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"weft train on {layout} ended with code {done.returncode}:\n{done.stderr}")
        return Turn(last_speed(out / "log.jsonl"), children_cpu_seconds() - before)


def last_speed(log: Path) -> float:
    """Return the speed in the last progress record, which covers all updates after the first."""
    records = map(json.loads, log.read_text("utf-8").split("\n")[:-1])
    speed: float = [record["tokens_per_second"] for record in records if "tokens_per_second" in record][-1]
    return speed


def measure(recipe: Path, settings: list[str], updates: int, rounds: int) -> dict[Layout, list[Turn]]:
    """Run each layout once per round, in reverse order in every second round.

    The CPU time outside the updates is measured by a turn of one update and subtracted.
    """
    take_turn(LAYOUTS[0], recipe, settings, 1)  # fills the cache
    overhead = {layout: take_turn(layout, recipe, settings, 1).cpu_seconds for layout in LAYOUTS}
    found: dict[Layout, list[Turn]] = {layout: [] for layout in LAYOUTS}
    for number in range(rounds):
        for layout in LAYOUTS[:: 1 if number % 2 == 0 else -1]:
            turn = take_turn(layout, recipe, settings, updates)
            found[layout].append(turn._replace(cpu_seconds=(turn.cpu_seconds - overhead[layout]) / (updates - 1)))
            log(f"round {number + 1}, {layout}: {turn.tokens_per_second:,.0f} tokens/s")
    return found


def figures(found: Mapping[Layout, list[Turn]]) -> dict[str, dict[str, Summary]]:
    """Summarize speed, speed relative to the first layout within each round, and CPU seconds per update."""
    first = found[LAYOUTS[0]]
    return {
        str(layout): {
            "tokens_per_second": summarize([turn.tokens_per_second for turn in turns]),
            "times_first": summarize(
                [turn.tokens_per_second / base.tokens_per_second for turn, base in zip(turns, first, strict=True)]
            ),
            "cpu_seconds_per_update": summarize([turn.cpu_seconds for turn in turns]),
        }
        for layout, turns in found.items()
    }


def render(found: Mapping[str, Mapping[str, Summary]]) -> str:
    rows = [
        (
            layout,
            format_range(figure["tokens_per_second"], ",.0f"),
            format_range(figure["times_first"], ".2f"),
            format_range(figure["cpu_seconds_per_update"], ".2f"),
        )
        for layout, figure in found.items()
    ]
    return table(("", "tokens/s", f"times {LAYOUTS[0]}", "CPU seconds per update"), rows)


def main(
    data: Annotated[Path, typer.Option(help="Folder with train.en and train.de.")],
    recipe: Annotated[Path, typer.Option(help="Recipe to train.")] = RECIPE,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    updates: Annotated[int, typer.Option(min=2, help="Per turn, after the first.")] = 30,
    json_file: JsonFile = None,
) -> None:
    """Measure the speedup of a second rank and of a second thread."""
    with TemporaryDirectory() as cache:
        settings = [f"data.folder={data.absolute()}", f"data.cache={cache}", "data.train=[train.en, train.de]"]
        settings += ["data.valid=[]", "data.test=[]"]
        found = figures(measure(recipe, settings, updates, rounds))
    print(render(found), end="")
    report: dict[str, Any] = {"machine": machine(), "figures": found}
    write_json(json_file, report)


if __name__ == "__main__":
    run_command(main, "rank_speed")
