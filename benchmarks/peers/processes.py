"""A toolkit at work, in a process of its own: what it prints, and the memory it takes at most."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError

PAUSE = 0.2  # seconds between two looks at the memory
OUTPUT = "output.txt"


class Ran(NamedTuple):
    """What a process that ended well has printed, and its peak of memory in MiB; None where Linux does not tell."""

    output: str
    peak: float | None


def run(name: str, command: list[str], folder: Path, threads: int) -> Ran:
    """Run the command in `folder`, with so many threads for the products of matrices."""
    places = {variable: str(threads) for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    path = folder / OUTPUT
    with path.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | places, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            peak = watch(process)
        finally:
            process.kill()
            process.wait()
    printed = path.read_bytes().decode("utf-8", "replace")
    if process.returncode != 0:
        raise UserError(f"{name} failed with code {process.returncode}; the last it printed:\n{ending(printed)}")
    return Ran(printed, peak)


def watch(process: subprocess.Popen[bytes]) -> float | None:
    """Wait for the end. Linux tells the peak of a living process only, so it is asked again and again."""
    peak: float | None = None
    while True:
        peak = peak_of(process.pid) or peak
        try:
            process.wait(PAUSE)
        except subprocess.TimeoutExpired:
            continue
        return peak


def peak_of(number: int) -> float | None:
    """MiB that the process has held at most so far."""
    try:
        status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    except OSError:
        return None  # no Linux, or the process is gone
    told = [line.split()[1] for line in status.split("\n") if line.startswith("VmHWM:")]
    return int(told[0]) / 1024 if told else None  # one that has just ended has no memory


def ending(printed: str, lines: int = 12) -> str:
    return "\n".join(f"  {line}" for line in printed.rstrip().split("\n")[-lines:])
