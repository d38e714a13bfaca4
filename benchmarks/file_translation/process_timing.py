"""Wall-clock time, CPU time and memory of programs that alternate, each in its own process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from benchmarks.command_line import log
from benchmarks.peers.processes import run
from benchmarks.summary_statistics import Summary, summarize

from weft.core.errors import UserError
from weft.data.text_files import read_lines


class Turn(NamedTuple):
    """Wall-clock seconds, CPU seconds and peak memory in MiB of a process.

    Other load on the machine changes the wall-clock time far more than the CPU time.
    """

    seconds: float
    cpu_seconds: float
    peak: float | None


TimedProgram: TypeAlias = Callable[[], Turn]
Rounds: TypeAlias = Mapping[str, Sequence[Turn]]  # by program


def time_process(name: str, command: list[str], threads: int) -> Turn:
    """Run a command in a temporary folder with this number of threads."""
    with TemporaryDirectory() as folder:
        return time_process_in(Path(folder), name, command, threads)


def time_process_in(folder: Path, name: str, command: list[str], threads: int) -> Turn:
    """Run a command in a folder that holds its input."""
    began, cpu_before = time.perf_counter(), children_cpu_seconds()
    result = run(name, command, folder, threads)
    return Turn(time.perf_counter() - began, children_cpu_seconds() - cpu_before, result.peak)


def children_cpu_seconds() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def run_in_turns(programs: Mapping[str, TimedProgram], rounds: int) -> dict[str, list[Turn]]:
    """Run every program once per round, in reverse order in every second round."""
    turns: dict[str, list[Turn]] = {name: [] for name in programs}
    for number in range(rounds):
        for name in list(programs)[:: 1 if number % 2 == 0 else -1]:
            turns[name].append(programs[name]())
            log(f"round {number + 1} of {rounds}, {name}: {turns[name][-1].seconds:,.2f} s")
    return turns


def fastest(programs: Mapping[str, TimedProgram]) -> str:
    """Run each program once and return the name of the fastest."""
    tried = run_in_turns(programs, 1)
    return min(tried, key=lambda name: tried[name][0].seconds)


def summarize_turns(turns: Sequence[Turn], lines: int, ours: Sequence[Turn] | None) -> dict[str, Any]:
    """Summarize one program.

    "ratio" is Weft's speed over its speed and "work_ratio" its CPU time over Weft's, within each round; None for Weft.
    """
    return {
        "seconds": summarize([turn.seconds for turn in turns]),
        "lines_per_second": summarize([lines / turn.seconds for turn in turns]),
        "peak_memory_mib": max((turn.peak for turn in turns if turn.peak is not None), default=None),
        "processor_seconds": summarize([turn.cpu_seconds for turn in turns]),
        "ratio": None if ours is None else ratios([turn.seconds for turn in turns], [turn.seconds for turn in ours]),
        "work_ratio": None
        if ours is None
        else ratios([turn.cpu_seconds for turn in turns], [turn.cpu_seconds for turn in ours]),
    }


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> Summary:
    return summarize([their / our for their, our in zip(theirs, ours, strict=True)])


def first_lines(file: Path, count: int, into: Path) -> list[str]:
    """Copy the first lines of a file to another one, without blank lines."""
    lines = [line for _, line in zip(range(count), read_lines(file), strict=False) if line.strip()]
    if not lines:
        raise UserError(f"{file}: there is no line to translate in it")
    into.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return lines


def translate(model: Path, source: Path, output: Path, options: Sequence[str], threads: int) -> Turn:
    """Time `weft translate`; raise UserError if the number of lines changes."""
    command = [
        sys.executable,
        "-m",
        "weft",
        "translate",
        str(model),
        str(source),
        "--no-split",
        "--output",
        str(output),
        *options,
    ]
    turn = time_process("weft translate", command, threads)
    expected, found = (sum(1 for _ in read_lines(file)) for file in (source, output))
    if expected != found:
        raise UserError(f"weft translate gave {found} lines for {expected}")
    return turn
