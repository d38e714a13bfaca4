"""Memory of `weft train` on a large corpus and on a small one, and the time to the first step.

From the root of the repository:

    python -m benchmarks.large_corpus --data FOLDER                        # train.en and train.de in FOLDER
    python -m benchmarks.large_corpus --data FOLDER --large 500000 --json figures.json

Both corpora repeat the lines of FOLDER, each with a unique number, so that no pair is a duplicate. Everything else is
equal. Each is trained twice for a few steps: the first run fills the cache, the second reads it. Memory is the peak of
RssAnon (/proc/PID/status, Linux only), which excludes mapped files. The CPU seconds to the first step are shown with
the wall-clock seconds, since other load hardly changes them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.peers.processes import memory_of

from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError
from weft.data.text_files import read_lines

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"
VALIDATION = 100  # pairs; checked for overlap with the training data
PAUSE = 0.02  # seconds between memory samples


class Run(NamedTuple):
    """Memory and time of a training run."""

    peak_mib: float
    first_step_seconds: float
    first_step_cpu_seconds: float


# --- Data ----------------------------------------------------------------------------------------------------------


def write_corpus(data: Path, folder: Path, pairs: int) -> list[str]:
    """Write the training and validation pairs; return the settings to use them."""
    for side in ("en", "de"):
        lines = list(read_lines(data / f"train.{side}"))
        write_lines(folder / f"train.{side}", lines, pairs)
        write_lines(folder / f"val.{side}", lines, VALIDATION)
    return [
        f"data.folder={folder}",
        f"data.cache={folder / 'cache'}",
        "data.train=[train.en, train.de]",
        "data.valid=[val.en, val.de]",
        "data.test=[]",
    ]


def write_lines(path: Path, lines: Sequence[str], count: int) -> None:
    """Repeat the lines, each with its number."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line} {number}\n" for number, line in enumerate(islice(cycle(lines), count)))


# --- Measurement ---------------------------------------------------------------------------------------------------


def measure(data: Path, recipe: Path, pairs: int, steps: int) -> dict[str, Run]:
    """Train without and with the token cache."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = [*write_corpus(data, folder, pairs), f"train.steps={steps}"]
        return {cache: train(recipe, settings, folder / cache) for cache in ("without cache", "with cache")}


def train(recipe: Path, settings: Sequence[str], out: Path) -> Run:
    """Run the command and sample its memory until it ends."""
    output = out.with_suffix(".txt")
    started = time.monotonic()
    peak, first_step, cpu_time = 0.0, None, 0.0
    with output.open("wb") as stream:
        command = [sys.executable, "-m", "weft", "train", str(recipe), *settings, "--out", str(out), "--device", "cpu"]
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
        try:
            while process.poll() is None:
                peak = max(peak, memory_of(process.pid).get("RssAnon", 0.0))
                if first_step is None and (out / "log.jsonl").exists():
                    first_step, cpu_time = time.monotonic() - started, cpu_seconds(process.pid)
                time.sleep(PAUSE)
        finally:
            process.kill()  # no effect on an ended process
    if process.returncode != 0 or first_step is None:
        raise UserError(f"weft train ended with code {process.returncode}:\n{output.read_text('utf-8')}")
    return Run(peak, first_step, cpu_time)


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process and its threads; 0 if it has just ended."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


# --- Report --------------------------------------------------------------------------------------------------------


def render(runs: Mapping[int, Mapping[str, Run]]) -> str:
    """Return the figures as a plain table."""
    small, large = runs.values()
    rows = [
        f"{pairs:>12,}  {cache:<16}{run.peak_mib:>10,.0f}"
        f"{run.first_step_seconds:>20,.1f}{run.first_step_cpu_seconds:>14,.1f}"
        for pairs, caches in runs.items()
        for cache, run in caches.items()
    ]
    increase = max_peak(large) - max_peak(small)
    header = f"{'pairs':>12}  {'':<16}{'peak MiB':>10}{'s to first step':>20}{'CPU s':>14}"
    return "\n".join([header, *rows, "", f"difference of the maximum peaks: {increase:+,.0f} MiB"])


def max_peak(runs: Mapping[str, Run]) -> float:
    return max(run.peak_mib for run in runs.values())


def as_json(runs: Mapping[int, Mapping[str, Run]]) -> dict[str, Any]:
    return {str(pairs): {cache: run._asdict() for cache, run in caches.items()} for pairs, caches in runs.items()}


def main(
    data: Annotated[Path, typer.Option(help="Folder with train.en and train.de.")],
    recipe: Annotated[Path, typer.Option(help="Recipe to train.")] = RECIPE,
    small: Annotated[int, typer.Option(min=VALIDATION, help="Pairs of the small corpus.")] = 50_000,
    large: Annotated[int, typer.Option(min=VALIDATION, help="Pairs of the large corpus.")] = 20_000_000,
    steps: Annotated[int, typer.Option(min=1, help="Updates of each run.")] = 20,
    json_file: JsonFile = None,
) -> None:
    """Measure how memory and the time to the first step grow with the number of pairs."""
    if small >= large:
        raise UserError(f"--small {small} must be smaller than --large {large}")
    runs = {pairs: measure(data, recipe, pairs, steps) for pairs in (small, large)}
    print(render(runs))
    write_json(json_file, as_json(runs))


if __name__ == "__main__":
    run_command(main, "large_corpus")
