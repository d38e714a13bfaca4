"""The table of an edit distance as textbooks print it (Jurafsky & Martin 2025, figures 2.14 to 2.19)."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from weft.core.errors import UserError
from weft.metric.distance import Costs, Edit, EditTable

ARROWS = {"keep": "↖", "substitute": "↖", "delete": "↑", "insert": "←"}
MARKS = {"keep": " ", "substitute": "s", "delete": "d", "insert": "i"}
START, NOTHING = "#", "*"
SIGNS = {" ": "␣", "\x7f": "␡", **{chr(number): chr(0x2400 + number) for number in range(32)}}
MOST_CELLS = 250_000


def draw(source: Sequence[str], target: Sequence[str], costs: Costs) -> str:
    """The table with its arrows, one cheapest way in brackets; then this way as an alignment, and its edits."""
    if (len(source) + 1) * (len(target) + 1) > MOST_CELLS:
        raise UserError(
            f"a table of {len(source):,} by {len(target):,} units is too large to be read: give shorter ones, or "
            "compare words with --words"
        )
    for name, cost in costs._asdict().items():
        if not math.isfinite(cost):
            raise UserError(f"--{name} {cost:g}: what an edit costs should be a number")
    made = EditTable(source, target, costs)
    edits = made.edits()
    total = f"distance {made.distance():g} ({', '.join(f'{name} {cost:g}' for name, cost in costs._asdict().items())})"
    told = [_told(edit, costs) for edit in edits if edit.kind != "keep"]
    return "\n".join([*_grid(made), "", *_alignment(edits), "", *told, total])


def _shown(unit: str) -> str:
    """A unit that takes its place: spaces and control characters are seen as signs."""
    return "".join(SIGNS.get(letter, letter) for letter in unit)


def _grid(made: EditTable) -> list[str]:
    """A row for each unit of the source, a column for each of the target."""
    path = set(made.path())
    rows = [["", *(f"{unit} " for unit in (START, *map(_shown, made.target)))]]
    for row, unit in enumerate([START, *map(_shown, made.source)]):
        rows.append([unit, *(_cell(made, (row, column), path) for column in range(len(made.target) + 1))])
    return [line.rstrip() for line in _columns(rows)]


def _cell(made: EditTable, place: tuple[int, int], path: AbstractSet[tuple[int, int]]) -> str:
    row, column = place
    text = f"{''.join(ARROWS[kind] for kind in made.arrows(row, column))}{made.cells[row][column].cost:g}"
    return f"[{text}]" if place in path else f"{text} "


def _alignment(edits: Sequence[Edit]) -> list[str]:
    """Source above target, a bar between what goes together, and what was done below."""
    if not edits:
        return ["(both are empty)"]
    rows = [
        [_side(edit.source) for edit in edits],
        ["|"] * len(edits),
        [_side(edit.target) for edit in edits],
        [MARKS[edit.kind] for edit in edits],
    ]
    return [line.rstrip() for line in _columns(rows)]


def _side(unit: str | None) -> str:
    return NOTHING if unit is None else _shown(unit)


def _told(edit: Edit, costs: Costs) -> str:
    source, target = _side(edit.source), _side(edit.target)
    match edit.kind:
        case "substitute":
            return f"substitute {target} for {source}: {costs.substitute:g}"
        case "delete":
            return f"delete {source}: {costs.delete:g}"
        case _:
            return f"insert {target}: {costs.insert:g}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Right-aligned, two spaces between."""
    widths = [max(_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(" " * (width - _width(cell)) + cell for cell, width in zip(row, widths, strict=True)) for row in rows
    ]


def _width(text: str) -> int:
    """In a terminal letters of East Asian scripts are two wide, and marks on letters have no width."""
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
