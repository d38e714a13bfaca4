"""Edit distance with configurable costs and its alignment (Wagner & Fischer 1974), and the table as textbooks print
it (Jurafsky & Martin 2025, figures 2.14 to 2.19).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len

from weft.core.errors import UserError

EditKind: TypeAlias = Literal["keep", "substitute", "delete", "insert"]

ARROWS = {"keep": "↖", "substitute": "↖", "delete": "↑", "insert": "←"}
EDIT_MARKS = {"keep": " ", "substitute": "s", "delete": "d", "insert": "i"}
START_SYMBOL, GAP_SYMBOL = "#", "*"
CONTROL_PICTURES = {" ": "␣", "\x7f": "␡", **{chr(number): chr(0x2400 + number) for number in range(32)}}
MAX_CELLS = 250_000


class EditCosts(NamedTuple):
    """The cost of each edit; keeping a unit is free."""

    insert: float = 1.0
    delete: float = 1.0
    substitute: float = 1.0


UNIT_COSTS = EditCosts()


class EditOperation(NamedTuple):
    """One step from the source to the target; None: there is no unit on this side."""

    kind: EditKind
    source: str | None
    target: str | None


class EditCell(NamedTuple):
    """The best path to a cell: the cheapest, and of equally cheap ones the one that keeps most units.

    Sums of costs are rounded: floating-point errors must not make equal ones differ.
    """

    cost: float
    minus_kept: int

    def plus(self, cost: float) -> EditCell:
        return EditCell(round(self.cost + cost, 9), self.minus_kept)


class EditTable:
    """cells[i][j] is the best path that turns the first i units of the source into the first j of the target.

    D[i,j] = min(D[i-1,j-1] + substitute, or + 0 if the units are equal, D[i-1,j] + delete, D[i,j-1] + insert).
    """

    def __init__(self, source: Sequence[str], target: Sequence[str], costs: EditCosts = UNIT_COSTS):
        self.source, self.target, self.costs = source, target, costs
        self.cells: list[list[EditCell]] = []
        for row in range(len(source) + 1):
            self.cells.append([])
            for column in range(len(target) + 1):
                options = [cell for _, cell in self._moves(row, column)]
                self.cells[row].append(min(options, default=EditCell(0.0, 0)))

    def distance(self) -> float:
        """Return the smallest cost of edits that turn the source into the target."""
        return self.cells[-1][-1].cost

    def arrows(self, row: int, column: int) -> list[EditKind]:
        """Return the last edits of all cheapest paths to a cell."""
        cheapest = self.cells[row][column].cost
        return [kind for kind, cell in self._moves(row, column) if cell.cost == cheapest]

    def path(self) -> list[tuple[int, int]]:
        """Return the cells of a cheapest path; of several, one that keeps most units."""
        return [cell for cell, _ in self._trace()]

    def edits(self) -> list[EditOperation]:
        """Return the edits of that path, from left to right."""
        return [
            EditOperation(
                kind,
                None if kind == "insert" else self.source[row - 1],
                None if kind == "delete" else self.target[column - 1],
            )
            for (row, column), kind in self._trace()
            if kind is not None
        ]

    def _trace(self) -> list[tuple[tuple[int, int], EditKind | None]]:
        """Each cell of the path with the edit that leads to it; None for the first."""
        row, column = len(self.source), len(self.target)
        path: list[tuple[tuple[int, int], EditKind | None]] = []
        while row or column:
            kind, _ = min(self._moves(row, column), key=lambda move: move[1])
            path.append(((row, column), kind))
            row, column = row - (kind != "insert"), column - (kind != "delete")
        return [((0, 0), None), *reversed(path)]

    def _moves(self, row: int, column: int) -> Iterator[tuple[EditKind, EditCell]]:
        """The possible last edits of a path to a cell, with its cost; of equal ones the first is taken."""
        if row and column:
            before = self.cells[row - 1][column - 1]
            if self.source[row - 1] == self.target[column - 1]:
                yield "keep", EditCell(before.cost, before.minus_kept - 1)
            else:
                yield "substitute", before.plus(self.costs.substitute)
        if row:
            yield "delete", self.cells[row - 1][column].plus(self.costs.delete)
        if column:
            yield "insert", self.cells[row][column - 1].plus(self.costs.insert)


def format_edit_table(source: Sequence[str], target: Sequence[str], costs: EditCosts) -> str:
    """Return the table with arrows and one cheapest path in brackets, the path as an alignment, and its edits."""
    if (len(source) + 1) * (len(target) + 1) > MAX_CELLS:
        raise UserError(
            f"a table of {len(source):,} by {len(target):,} units is too large to read: use shorter strings, or "
            "compare words with --words"
        )
    for name, cost in costs._asdict().items():
        if not math.isfinite(cost):
            raise UserError(f"--{name} {cost:g}: the cost of an edit must be a finite number")
    table = EditTable(source, target, costs)
    edits = table.edits()
    described_costs = ", ".join(f"{name} {cost:g}" for name, cost in costs._asdict().items())
    total = f"distance {table.distance():g} (costs: {described_costs})"
    described = [_describe_edit(edit, costs) for edit in edits if edit.kind != "keep"]
    return "\n".join([*_format_grid(table), "", *_format_alignment(edits), "", *described, total])


def _format_grid(table: EditTable) -> list[str]:
    """A row for each unit of the source, a column for each unit of the target."""
    path = set(table.path())
    rows = [["", *(f"{unit} " for unit in (START_SYMBOL, *map(_format_unit, table.target)))]]
    for row, unit in enumerate([START_SYMBOL, *map(_format_unit, table.source)]):
        line = [unit]
        for column, cell in enumerate(table.cells[row]):
            text = f"{''.join(ARROWS[kind] for kind in table.arrows(row, column))}{cell.cost:g}"
            line.append(f"[{text}]" if (row, column) in path else f"{text} ")
        rows.append(line)
    return _align_right(rows)


def _format_alignment(edits: Sequence[EditOperation]) -> list[str]:
    """The source above the target, with the edits below."""
    if not edits:
        return ["(both are empty)"]
    rows = [
        [_format_unit(edit.source) for edit in edits],
        ["|"] * len(edits),
        [_format_unit(edit.target) for edit in edits],
        [EDIT_MARKS[edit.kind] for edit in edits],
    ]
    return _align_right(rows)


def _format_unit(unit: str | None) -> str:
    """A unit with visible spaces and control characters."""
    return GAP_SYMBOL if unit is None else "".join(CONTROL_PICTURES.get(letter, letter) for letter in unit)


def _describe_edit(edit: EditOperation, costs: EditCosts) -> str:
    source, target = _format_unit(edit.source), _format_unit(edit.target)
    units = {"substitute": f"{target} for {source}", "delete": source, "insert": target}[edit.kind]
    return f"{edit.kind} {units}: {getattr(costs, edit.kind):g}"


def _align_right(rows: Sequence[Sequence[str]]) -> list[str]:
    """Right-aligned columns, two spaces apart."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(" " * (width - cell_len(cell)) + cell for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
