"""Run a toolkit in a subprocess and record its output and peak memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError

PAUSE = 0.2  # seconds between memory samples
OUTPUT = "output.txt"
MEMORIES = ("VmHWM", "RssAnon")  # fields of /proc/PID/status: peak so far, current anonymous memory


class ProcessResult(NamedTuple):
    """Output and peak memory, in MiB, of a process that succeeded; memory is None where /proc is not available.

    peak: resident memory; anonymous: without mapped files such as libraries.
    """

    output: str
    peak: float | None
    anonymous: float | None


def run(name: str, command: list[str], folder: Path, threads: int) -> ProcessResult:
    """Run the command in `folder` with this number of threads; raise UserError if it fails."""
    variables = {variable: str(threads) for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    path = folder / OUTPUT
    with path.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | variables, stdout=stream, stderr=subprocess.STDOUT
        )
        try:
            peak, anonymous = watch(process)
        finally:
            process.kill()
            process.wait()
    output = path.read_bytes().decode("utf-8", "replace")
    if process.returncode != 0:
        raise UserError(f"{name} failed with code {process.returncode}; the last it printed:\n{last_lines(output)}")
    return ProcessResult(output, peak, anonymous)


def watch(process: subprocess.Popen[bytes]) -> tuple[float | None, ...]:
    """Wait for the process and sample its memory, which /proc shows only while it runs."""
    peaks: dict[str, float] = {}
    while True:
        for name, size in memory_of(process.pid).items():
            peaks[name] = max(size, peaks.get(name, 0.0))
        try:
            process.wait(PAUSE)
        except subprocess.TimeoutExpired:
            continue
        return tuple(map(peaks.get, MEMORIES))


def memory_of(process: int) -> dict[str, float]:
    """Return MiB of each of MEMORIES; empty if the process has ended or without /proc."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return {}
    fields = (line.partition(":") for line in status.split("\n"))
    return {name: int(value.split()[0]) / 1024 for name, _, value in fields if name in MEMORIES}


def last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().split("\n")[-count:])
