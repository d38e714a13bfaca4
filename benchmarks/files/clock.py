"""Programs that take turns, each a process of its own by the clock, from its start to its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from benchmarks.peers.processes import run
from benchmarks.spreads import Spread, spread
from benchmarks.telling import tell


class Turn(NamedTuple):
    """Seconds from the start of a process to its end, those that processors worked for it, and the most memory it held,
    in MiB. What others do on a machine changes the first of these far more than the second.
    """

    seconds: float
    worked: float
    peak: float | None


Side: TypeAlias = Callable[[], Turn]
Rounds: TypeAlias = Mapping[str, Sequence[Turn]]  # the turns of each side


def timed(name: str, command: list[str], threads: int) -> Turn:
    """One process, with so many threads for the products of matrices."""
    with TemporaryDirectory() as folder:
        return timed_in(Path(folder), name, command, threads)


def timed_in(folder: Path, name: str, command: list[str], threads: int) -> Turn:
    """The same in a folder that has what it needs."""
    began, worked = time.perf_counter(), work_of_children()
    ran = run(name, command, folder, threads)
    return Turn(time.perf_counter() - began, work_of_children() - worked, ran.peak)


def work_of_children() -> float:
    """Seconds that processors have worked for processes that were started here and have ended."""
    so_far = os.times()
    return so_far.children_user + so_far.children_system


def in_turns(sides: Mapping[str, Side], rounds: int) -> dict[str, list[Turn]]:
    """Every second round in the opposite order, so that a busy machine slows all."""
    turns: dict[str, list[Turn]] = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            turns[name].append(sides[name]())
            tell(f"round {number + 1} of {rounds}, {name}: {turns[name][-1].seconds:,.2f} s")
    return turns


def fastest(sides: Mapping[str, Side]) -> str:
    """The name of the side that needs the least time, each tried once."""
    tried = in_turns(sides, 1)
    return min(tried, key=lambda name: tried[name][0].seconds)


def figures_of(turns: Sequence[Turn], lines: int, ours: Sequence[Turn] | None) -> dict[str, Any]:
    """Of one side. The ratio is our speed over its speed, within each round, and how many times our work it has; None
    for ourselves.
    """
    return {
        "seconds": spread([turn.seconds for turn in turns]),
        "lines_per_second": spread([lines / turn.seconds for turn in turns]),
        "peak_memory_mib": max((turn.peak for turn in turns if turn.peak is not None), default=None),
        "processor_seconds": spread([turn.worked for turn in turns]),
        "ratio": None if ours is None else ratios([turn.seconds for turn in turns], [turn.seconds for turn in ours]),
        "work_ratio": None if ours is None else ratios([turn.worked for turn in turns], [turn.worked for turn in ours]),
    }


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    return spread([one / other for one, other in zip(theirs, ours, strict=True)])
