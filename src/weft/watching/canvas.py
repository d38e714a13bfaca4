"""Dots in a terminal: a letter of braille is a cell of two by four of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

BLANK = 0x2800  # the letter without dots
BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of the dots of a cell, row by row
Dot: TypeAlias = tuple[int, int]  # column and row; the first row is at the top


class Cell(NamedTuple):
    """A letter, and whose it is; None of an empty one."""

    letter: str
    owner: int | None


class Canvas:
    """width x height cells, on which several owners draw. A cell has one colour: the last to draw there has it."""

    def __init__(self, width: int, height: int):
        self.width, self.height = width, height
        self._bits = [[0] * width for _ in range(height)]
        self._signs: dict[tuple[int, int], str] = {}
        self._owners: dict[tuple[int, int], int] = {}

    def dot(self, place: tuple[float, float]) -> Dot:
        """Of a place between (0, 0), below at the left, and (1, 1): the nearest dot."""
        across, up = place
        return round(across * (2 * self.width - 1)), round((1 - up) * (4 * self.height - 1))

    def line(self, dots: Sequence[Dot], owner: int) -> None:
        """Straight from each dot to the next."""
        for begin, end in zip(dots, dots[1:] or dots, strict=False):
            for dot in between(begin, end):
                self._set(dot, owner)

    def sign(self, dot: Dot, letter: str, owner: int) -> None:
        """A letter in the cell of a dot; it hides what is drawn there."""
        cell = dot[1] // 4, dot[0] // 2
        self._signs[cell], self._owners[cell] = letter, owner

    def _set(self, dot: Dot, owner: int) -> None:
        row, column = dot[1] // 4, dot[0] // 2
        self._bits[row][column] |= BITS[dot[1] % 4][dot[0] % 2]
        if (row, column) not in self._signs:
            self._owners[row, column] = owner

    def rows(self) -> list[list[Cell]]:
        return [[self._cell(row, column) for column in range(self.width)] for row in range(self.height)]

    def _cell(self, row: int, column: int) -> Cell:
        bits = self._bits[row][column]
        letter = self._signs.get((row, column)) or (chr(BLANK + bits) if bits else " ")
        return Cell(letter, self._owners.get((row, column)))


def between(begin: Dot, end: Dot) -> list[Dot]:
    """All dots of a straight line, both ends among them."""
    across, down = end[0] - begin[0], end[1] - begin[1]
    count = max(abs(across), abs(down), 1)
    return [(begin[0] + round(across * n / count), begin[1] + round(down * n / count)) for n in range(count + 1)]
