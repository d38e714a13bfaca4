"""Toolkits that take turns, each run in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, NamedTuple

from benchmarks.peers.data import Pieces
from benchmarks.peers.environments import NotInstalledError, python_of
from benchmarks.peers.processes import run
from benchmarks.peers.report import Round, Turn
from benchmarks.peers.tasks import Job, Shape, Toolkit, Training
from benchmarks.telling import tell

from weft.core.errors import UserError


class Race(NamedTuple, Generic[Shape]):
    """Who trains what, on what: the toolkits, each with its Python."""

    toolkits: Mapping[Toolkit[Shape], Path]
    training: Training[Shape]
    pieces: Pieces
    threads: int


def installed(toolkits: Sequence[Toolkit[Shape]], folder: Path) -> dict[Toolkit[Shape], Path]:
    """The toolkits that are or can be installed, each with its Python."""
    found: dict[Toolkit[Shape], Path] = {}
    for toolkit in toolkits:
        tell(f"{toolkit.name}: looking for its environment, or making it")
        try:
            found[toolkit] = python_of(toolkit.pins, folder)
        except NotInstalledError as error:
            tell(f"{toolkit.name} is left out: {error}")
    return found


def take_round(race: Race[Shape], number: int) -> Round:
    """Every toolkit takes its turn, in odd rounds in the opposite order. A peer that fails has none."""
    order = 1 if number % 2 == 0 else -1
    turns: Round = {}
    for toolkit in list(race.toolkits)[::order]:
        try:
            turn = turns[toolkit.name] = take_turn(race, toolkit)
        except UserError as error:
            if toolkit.pins is None:
                raise
            tell(f"round {number + 1}: {error}")
        else:
            tell(f"round {number + 1}: {toolkit.name} {turn.figures.tokens_per_second:,.0f} tokens/s")
    return turns


def take_turn(race: Race[Shape], toolkit: Toolkit[Shape]) -> Turn:
    """One training run, of which nothing stays but its figures."""
    with TemporaryDirectory() as folder:
        job = Job(race.training, race.pieces, Path(folder))
        ran = run(toolkit.name, [str(race.toolkits[toolkit]), *toolkit.command(job)], job.folder, race.threads)
        return Turn(toolkit.read(job, ran.output), ran.peak, ran.anonymous)
