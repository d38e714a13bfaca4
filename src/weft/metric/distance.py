"""Edit distance with settable costs, and the edits that it counts (Wagner & Fischer 1974)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["keep", "substitute", "delete", "insert"]


class Costs(NamedTuple):
    """What each edit costs; to keep is free."""

    insert: float = 1.0
    delete: float = 1.0
    substitute: float = 1.0


UNIT = Costs()


class Edit(NamedTuple):
    """One step from the source to the target; None: there is nothing on this side."""

    kind: Kind
    source: str | None
    target: str | None


class Cell(NamedTuple):
    """The best way to a place of the table, so that the least is the best: the cheapest, of these what keeps most.

    Costs need not be whole, so their sums are rounded: else equal ones would differ by chance.
    """

    cost: float
    minus_kept: int  # units

    def plus(self, cost: float) -> Cell:
        return Cell(round(self.cost + cost, 9), self.minus_kept)


class Move(NamedTuple):
    """The last edit of a way to a place of the table, and that way."""

    kind: Kind
    cell: Cell


class EditTable:
    """cells[i][j] is the best way to make the first j units of the target of the first i of the source.

    D[i,j] = min(D[i-1,j-1] + substitute, or + 0 where the units are equal, D[i-1,j] + delete, D[i,j-1] + insert).
    """

    def __init__(self, source: Sequence[str], target: Sequence[str], costs: Costs = UNIT):
        self.source, self.target, self.costs = source, target, costs
        self.cells: list[list[Cell]] = []
        for row in range(len(source) + 1):
            self.cells.append([])
            for column in range(len(target) + 1):
                ways = [move.cell for move in self._moves(row, column)]
                self.cells[row].append(min(ways, default=Cell(0.0, 0)))

    def distance(self) -> float:
        return self.cells[-1][-1].cost

    def arrows(self, row: int, column: int) -> list[Kind]:
        """The last edits of all cheapest ways to a place."""
        cheapest = self.cells[row][column].cost
        return [move.kind for move in self._moves(row, column) if move.cell.cost == cheapest]

    def path(self) -> list[tuple[int, int]]:
        """The places of a cheapest way from the first to the last: of several, one that keeps most."""
        return [place for place, _ in self._trace()]

    def edits(self) -> list[Edit]:
        """What is done on that way, from left to right."""
        return [
            Edit(
                kind,
                None if kind == "insert" else self.source[row - 1],
                None if kind == "delete" else self.target[column - 1],
            )
            for (row, column), kind in self._trace()
            if kind is not None
        ]

    def _trace(self) -> list[tuple[tuple[int, int], Kind | None]]:
        """Each place with the edit that leads to it, traced back from the last; none leads to the first."""
        row, column = len(self.source), len(self.target)
        way: list[tuple[tuple[int, int], Kind | None]] = []
        while row or column:
            kind = min(self._moves(row, column), key=lambda move: move.cell).kind
            way.append(((row, column), kind))
            row, column = row - (kind != "insert"), column - (kind != "delete")
        return [((0, 0), None), *reversed(way)]

    def _moves(self, row: int, column: int) -> Iterator[Move]:
        """What may come last on the way to a place; of equals the first is taken."""
        if row and column:
            before = self.cells[row - 1][column - 1]
            if self.source[row - 1] == self.target[column - 1]:
                yield Move("keep", Cell(before.cost, before.minus_kept - 1))
            else:
                yield Move("substitute", before.plus(self.costs.substitute))
        if row:
            yield Move("delete", self.cells[row - 1][column].plus(self.costs.delete))
        if column:
            yield Move("insert", self.cells[row][column - 1].plus(self.costs.insert))


def distance(source: Sequence[str], target: Sequence[str], costs: Costs = UNIT) -> float:
    """The least that edits from the source to the target can cost."""
    return EditTable(source, target, costs).distance()


def align(source: Sequence[str], target: Sequence[str], costs: Costs = UNIT) -> list[Edit]:
    """The edits of a cheapest way from the source to the target."""
    return EditTable(source, target, costs).edits()
