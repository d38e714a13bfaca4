"""Faults on purpose: runs that are killed, files that are damaged, a disk that is full.

From the root of the repository, with the folder of tests on the path:

    PYTHONPATH=tests python -m faults kills --kills 200 --runs 20
    PYTHONPATH=tests python -m faults bytes --places 1000
    PYTHONPATH=tests python -m faults disk --megabytes 50

Each prints a table and ends with code 1 if anything was lost, changed unseen, or ended with something else than one
message. `disk` needs root, who alone can make a disk in memory.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from faults.damage import table, trials
from faults.disk import can_mount, filled, small_disk
from faults.kills import KINDS, killed, undisturbed
from system import toys
from system.commands import weft

Seed = Annotated[int, typer.Option(help="Of the random places and times.")]
app = typer.Typer(help="Faults on purpose.", no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.command()
def kills(kills: int = 200, runs: int = 20, seed: Seed = 1) -> None:
    """Kill short runs at random moments, and compare what they leave with what undisturbed ones leave."""
    draws, bad, total = Random(seed), 0, 0
    with home() as (folder, corpus):
        whole = {kind: undisturbed(folder, corpus, *kind) for kind in KINDS[: min(runs, len(KINDS))]}
        print(f"{'run':>4} {'model':<14}{'ranks':>6}{'kills':>7}{'seconds':>9}  result")
        for number in range(runs):
            (family, ranks), began = KINDS[number % len(KINDS)], time.monotonic()
            place = folder / f"killed-{number}"
            place.mkdir()
            share = kills // runs + (number < kills % runs)
            run = killed(place, whole[family, ranks], family, ranks, share, draws)
            result = "; ".join(run.wrong) or "the same"
            seconds = time.monotonic() - began
            print(f"{number + 1:>4} {family:<14}{ranks:>6}{run.kills:>7}{seconds:>9.1f}  {result}", flush=True)
            bad, total = bad + bool(run.wrong), total + run.kills
    print(f"{total} kills in {runs} runs: {runs - bad} ended as undisturbed ones, {bad} did not")
    sys.exit(bool(bad))


@app.command("bytes")
def damaged_bytes(places: int = 1000, seed: Seed = 1) -> None:
    """Change and cut every file of a model folder at random places, and translate with both engines."""
    with home() as (folder, corpus):
        recipe = toys.write_recipe(folder / "recipe.yaml", toys.learning_recipe(corpus, "transformer"))
        assert weft("train", recipe, "--out", folder / "run").code == 0
        assert weft("shortlist", folder / "run").code == 0
        bad = 0
        for engine in ("torch", "ctranslate2"):
            place = folder / engine
            place.mkdir()
            done = list(trials(folder / "run" / "best", place, places, Random(seed), engine))
            print(f"{engine}: {places} flips and {places} cuts of every file", *table(done), sep="\n", flush=True)
            wrong = [trial for trial in done if trial.ended in ("crash", "other output")]
            print(*wrong[:20], sep="\n")
            bad += len(wrong)
    sys.exit(bool(bad))


@app.command()
def disk(megabytes: int = 50, trials: int = 5, seed: Seed = 1) -> None:
    """Train on a disk that becomes full, of this size, then of smaller ones; make room each time, and go on."""
    if not can_mount():
        sys.exit("faults disk: only root can make a disk in memory; run it as root, in a container for example")
    draws, bad = Random(seed), 0
    with home() as (folder, corpus):
        for number in range(trials):
            size = megabytes * 2**20 if number == 0 else draws.randrange(2**16, megabytes * 2**20)
            with small_disk(folder / f"disk-{number}", size) as small:
                result = filled(small, corpus, folder)
            told = f"code {result.code}, last whole step {result.step}, gone on to {result.went_on}"
            print(f"{size:>12,} bytes: {told}: {result.said.strip().splitlines()[-1]}", flush=True)
            bad += not result.well()
    sys.exit(bool(bad))


@contextmanager
def home() -> Iterator[tuple[Path, Path]]:
    """A folder that goes away again, and in it a corpus and a cache of tokens."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["WEFT_CACHE"] = str(folder / "cache")
        (folder / "corpus").mkdir()
        yield folder, toys.write_corpus(folder / "corpus")


if __name__ == "__main__":
    app()
