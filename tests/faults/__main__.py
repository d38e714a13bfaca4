"""Fault injection: killed runs, damaged files, a full disk.

From the root of the repository, with `tests` on the path:

    PYTHONPATH=tests python -m faults kills --kills 200 --runs 20
    PYTHONPATH=tests python -m faults bytes --places 1000
    PYTHONPATH=tests python -m faults disk --megabytes 50

Each prints a table and exits with code 1 if data was lost, damage went unnoticed, or an error was not reported with a
single message. `disk` needs root to mount a RAM disk.
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
from faults.disk import can_mount, fill_disk, small_disk
from faults.kills import KINDS, killed_run, reference_run
from system import toys
from system.commands import weft

Seed = Annotated[int, typer.Option(help="Seed of the random positions and times.")]
app = typer.Typer(help="Fault injection.", no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.command()
def kills(kills: int = 200, runs: int = 20, seed: Seed = 1) -> None:
    """Kill short runs at random times and compare their files with those of undisturbed runs."""
    rng, bad, total = Random(seed), 0, 0
    with workspace() as (folder, corpus):
        references = {kind: reference_run(folder, corpus, *kind) for kind in KINDS[: min(runs, len(KINDS))]}
        print(f"{'run':>4} {'model':<14}{'ranks':>6}{'kills':>7}{'seconds':>9}  result")
        for number in range(runs):
            (family, ranks), start = KINDS[number % len(KINDS)], time.monotonic()
            out = folder / f"killed-{number}"
            out.mkdir()
            share = kills // runs + (number < kills % runs)
            run = killed_run(out, references[family, ranks], family, ranks, share, rng)
            result = "; ".join(run.problems) or "the same"
            seconds = time.monotonic() - start
            print(f"{number + 1:>4} {family:<14}{ranks:>6}{run.kills:>7}{seconds:>9.1f}  {result}", flush=True)
            bad, total = bad + bool(run.problems), total + run.kills
    print(f"{total} kills in {runs} runs: {runs - bad} ended like undisturbed runs, {bad} did not")
    sys.exit(bool(bad))


@app.command("bytes")
def damaged_bytes(places: int = 1000, seed: Seed = 1) -> None:
    """Change and truncate every file of a model folder at random positions; translate with both backends."""
    with workspace() as (folder, corpus):
        recipe = toys.write_recipe(folder / "recipe.yaml", toys.learning_recipe(corpus, "transformer"))
        assert weft("train", recipe, "--out", folder / "run").code == 0
        assert weft("shortlist", folder / "run").code == 0
        bad = 0
        for backend in ("torch", "ctranslate2"):
            copy = folder / backend
            copy.mkdir()
            results = list(trials(folder / "run" / "best", copy, places, Random(seed), backend))
            print(f"{backend}: {places} flips and {places} cuts of every file", *table(results), sep="\n", flush=True)
            failures = [trial for trial in results if trial.outcome in ("crash", "other output")]
            print(*failures[:20], sep="\n")
            bad += len(failures)
    sys.exit(bool(bad))


@app.command()
def disk(megabytes: int = 50, trials: int = 5, seed: Seed = 1) -> None:
    """Train on a disk of this size, then on smaller ones, until it is full; enlarge it and resume."""
    if not can_mount():
        sys.exit("faults disk: mounting a RAM disk needs root; run it as root, for example in a container")
    rng, bad = Random(seed), 0
    with workspace() as (folder, corpus):
        for number in range(trials):
            size = megabytes * 2**20 if number == 0 else rng.randrange(2**16, megabytes * 2**20)
            with small_disk(folder / f"disk-{number}", size) as small:
                result = fill_disk(small, corpus, folder)
            outcome = f"code {result.code}, last complete step {result.step}, resumed to {result.resumed_to}"
            print(f"{size:>12,} bytes: {outcome}: {result.stderr.strip().splitlines()[-1]}", flush=True)
            bad += not result.is_correct()
    sys.exit(bool(bad))


@contextmanager
def workspace() -> Iterator[tuple[Path, Path]]:
    """A temporary folder with a corpus and a token cache."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["WEFT_CACHE"] = str(folder / "cache")
        (folder / "corpus").mkdir()
        yield folder, toys.write_corpus(folder / "corpus")


if __name__ == "__main__":
    app()
