"""Rounds of training runs, one process per toolkit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, NamedTuple

from benchmarks.command_line import log
from benchmarks.peers.data import Pieces
from benchmarks.peers.environments import NotInstalledError, python_of
from benchmarks.peers.processes import run
from benchmarks.peers.report import Round, Turn
from benchmarks.peers.toolkit import Job, Shape, Toolkit, Training

from weft.core.errors import UserError


class Comparison(NamedTuple, Generic[Shape]):
    """A comparison of toolkits, each with its Python interpreter, on the same training job."""

    toolkits: Mapping[Toolkit[Shape], Path]
    training: Training[Shape]
    pieces: Pieces
    threads: int


def installed(toolkits: Sequence[Toolkit[Shape]], folder: Path) -> dict[Toolkit[Shape], Path]:
    """Return the toolkits that can be installed, each with its Python interpreter."""
    interpreters: dict[Toolkit[Shape], Path] = {}
    for toolkit in toolkits:
        log(f"{toolkit.name}: preparing its environment")
        try:
            interpreters[toolkit] = python_of(toolkit.pins, folder)
        except NotInstalledError as error:
            log(f"{toolkit.name} is left out: {error}")
    return interpreters


def take_round(comparison: Comparison[Shape], number: int) -> Round:
    """Run every toolkit once, in reverse order in odd rounds. A peer that fails is left out."""
    order = 1 if number % 2 == 0 else -1
    turns: Round = {}
    for toolkit in list(comparison.toolkits)[::order]:
        try:
            turn = turns[toolkit.name] = take_turn(comparison, toolkit)
        except UserError as error:
            if toolkit.pins is None:
                raise
            log(f"round {number + 1}: {error}")
        else:
            log(f"round {number + 1}: {toolkit.name} {turn.figures.tokens_per_second:,.0f} tokens/s")
    return turns


def take_turn(comparison: Comparison[Shape], toolkit: Toolkit[Shape]) -> Turn:
    """Run a toolkit in a temporary folder and return its figures."""
    with TemporaryDirectory() as folder:
        job = Job(comparison.training, comparison.pieces, Path(folder))
        result = run(
            toolkit.name, [str(comparison.toolkits[toolkit]), *toolkit.command(job)], job.folder, comparison.threads
        )
        return Turn(toolkit.read(job, result.output), result.peak, result.anonymous)
