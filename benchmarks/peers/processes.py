"""A toolkit at work, in a process of its own: what it prints, and the memory that it takes at most."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError

PAUSE = 0.2  # seconds between two looks at the memory
OUTPUT = "output.txt"
MEMORIES = ("VmHWM", "RssAnon")  # the peak so far, and what is anonymous now, as Linux calls them


class Ran(NamedTuple):
    """What a process that ended well has printed, and the most memory it held, in MiB; None where Linux does not tell.

    peak: all that it held at once; anonymous: what it had made itself, without the files of libraries.
    """

    output: str
    peak: float | None
    anonymous: float | None


def run(name: str, command: list[str], folder: Path, threads: int) -> Ran:
    """Run the command in `folder`, with so many threads for the products of matrices."""
    places = {variable: str(threads) for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    path = folder / OUTPUT
    with path.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | places, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            peak, anonymous = watch(process)
        finally:
            process.kill()
            process.wait()
    printed = path.read_bytes().decode("utf-8", "replace")
    if process.returncode != 0:
        raise UserError(f"{name} failed with code {process.returncode}; the last it printed:\n{ending(printed)}")
    return Ran(printed, peak, anonymous)


def watch(process: subprocess.Popen[bytes]) -> tuple[float | None, ...]:
    """Wait for the end. Linux tells the memory of a living process only, so it is asked again and again."""
    most: dict[str, float] = {}
    while True:
        for name, held in memory_of(process.pid).items():
            most[name] = max(held, most.get(name, 0.0))
        try:
            process.wait(PAUSE)
        except subprocess.TimeoutExpired:
            continue
        return tuple(map(most.get, MEMORIES))


def memory_of(number: int) -> dict[str, float]:
    """MiB of each of the MEMORIES; nothing of a process that has just ended, or where there is no Linux."""
    try:
        status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    except OSError:
        return {}
    told = (line.partition(":") for line in status.split("\n"))
    return {name: int(value.split()[0]) / 1024 for name, _, value in told if name in MEMORIES}


def ending(printed: str, lines: int = 12) -> str:
    return "\n".join(f"  {line}" for line in printed.rstrip().split("\n")[-lines:])
