"""What was found in the corpora: counts of each kind, and where the first are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.check.kinds import KINDS
from weft.check.rows import Files, Row
from weft.check.showing import shown
from weft.data.hashes import BLOCK
from weft.data.kinds import NAMES
from weft.data.report import SideReport, side_report
from weft.data.tally import SideTally

FIRST = 3  # places that are told of each kind


@dataclass(frozen=True)
class Place:
    """Where a problem is, and what stands there."""

    file: str
    line: int
    source: str
    target: str


@dataclass(frozen=True)
class Finding:
    """One kind of problem in one corpus."""

    kind: str
    count: int
    share: float  # of the pairs
    serious: bool
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Findings:
    """All of one corpus: the kinds that were looked for. source, target: its tokens, if they were counted."""

    name: str
    pairs: int
    found: tuple[Finding, ...]
    source: SideReport | None
    target: SideReport | None

    def of(self, kind: str) -> Finding | None:
        return next((finding for finding in self.found if finding.kind == kind), None)

    def count(self, kind: str) -> int:
        return sum(finding.count for finding in self.found if finding.kind == kind)


def findings(
    name: str,
    files: Files,
    found: NDArray[np.uint32],
    looked_for: int,
    tokens: tuple[SideTally, SideTally] | None,
) -> Findings:
    """Count what was found in each pair, of the kinds that were looked for; the places of the first are read anew."""
    firsts = {kind: _first(found, kind) for kind in KINDS if kind & looked_for}
    rows = _rows(files, {number for numbers in firsts.values() for number in numbers})
    told = tuple(
        _finding(label, _count(found, kind), len(found), [rows[number] for number in firsts[kind] if number in rows])
        for label, kind in NAMES.items()
        if kind & looked_for
    )
    sides = (None, None) if tokens is None else tuple(side_report(side, len(found)) for side in tokens)
    return Findings(name, len(found), told, *sides)


def _finding(label: str, count: int, pairs: int, rows: Sequence[Row]) -> Finding:
    kind, share = NAMES[label], count / pairs
    serious = KINDS[kind].serious
    return Finding(
        label,
        count,
        share,
        serious is not None and count > 0 and share >= serious,
        tuple(_place(row, kind) for row in rows),
    )


def _place(row: Row, kind: int) -> Place:
    source, target = shown(row, kind)
    return Place(str(row.file(0)), row.number, source, target)


def _count(found: NDArray[np.uint32], kind: int) -> int:
    return sum(int(np.count_nonzero(block & kind)) for block in _blocks(found))


def _first(found: NDArray[np.uint32], kind: int) -> list[int]:
    """The numbers of the first few that have it."""
    numbers: list[int] = []
    for place, block in enumerate(_blocks(found)):
        numbers += (place * BLOCK + np.flatnonzero(block & kind)[:FIRST]).tolist()
        if len(numbers) >= FIRST:
            break
    return numbers[:FIRST]


def _blocks(found: NDArray[np.uint32]) -> list[NDArray[Any]]:
    return [found[start : start + BLOCK] for start in range(0, len(found), BLOCK)]


def _rows(files: Files, numbers: set[int]) -> dict[int, Row]:
    """The rows with these numbers, from 0; no more is read than is needed."""
    rows: dict[int, Row] = {}
    if numbers:
        last = max(numbers)
        for number, row in enumerate(files.rows()):
            if number in numbers:
                rows[number] = row
            if number == last:
                break
    return rows
