"""The mistakes that lead from one spelling to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from rapidfuzz.distance import Postfix, Prefix

from weft.noise.habits import START


class Mistake(NamedTuple):
    """One mistake, after the letter `before` of the right spelling (or START).

    right: the letters that should stand there. wrong: those that were written instead.
    """

    kind: Literal["drop", "insert", "replace", "swap"]
    before: str
    right: str
    wrong: str


def mistakes(right: str, wrong: str) -> list[Mistake]:
    """The fewest mistakes that make `wrong` of `right`, from left to right (optimal string alignment).

    Of several ways, letters are kept as early as possible: in "beggin" it is the second g that was inserted.
    """
    start = Prefix.similarity(right, wrong)
    end = Postfix.similarity(right[start:], wrong[start:])
    changed, written = right[start : len(right) - end], wrong[start : len(wrong) - end]
    return list(_trace(START + right[:start], changed, written))


class _Move(NamedTuple):
    """Some letters of the right spelling, and some of the wrong one, that go together; cost: the mistakes made."""

    kind: Literal["keep", "drop", "insert", "replace", "swap"]
    cost: int
    right: int
    wrong: int


_KEEP = _Move("keep", 0, 1, 1)
_SWAP = _Move("swap", 1, 2, 2)
_REPLACE = _Move("replace", 1, 1, 1)
_DROP = _Move("drop", 1, 1, 0)
_INSERT = _Move("insert", 1, 0, 1)


def _trace(before: str, right: str, wrong: str) -> Iterator[Mistake]:
    costs = _costs(right, wrong)
    i = j = 0
    while i < len(right) or j < len(wrong):
        move = next(
            move
            for move in _moves(right[i : i + 2], wrong[j : j + 2])
            if move.cost + costs[i + move.right][j + move.wrong] == costs[i][j]
        )
        if move.kind != "keep":
            last = (before + right[:i])[-1]
            yield Mistake(move.kind, last, right[i : i + move.right], wrong[j : j + move.wrong])
        i, j = i + move.right, j + move.wrong


def _costs(right: str, wrong: str) -> list[list[int]]:
    """[i][j]: how many mistakes make wrong[j:] of right[i:]."""
    costs = [[0] * (len(wrong) + 1) for _ in range(len(right) + 1)]
    for i in reversed(range(len(right) + 1)):
        for j in reversed(range(len(wrong) + 1)):
            moves = _moves(right[i : i + 2], wrong[j : j + 2])
            costs[i][j] = min((move.cost + costs[i + move.right][j + move.wrong] for move in moves), default=0)
    return costs


def _moves(right: str, wrong: str) -> Iterator[_Move]:
    """What can come next, the best of equals first; of both spellings, the next two letters are given."""
    if right and wrong:
        yield _KEEP if right[0] == wrong[0] else _REPLACE
    if len(right) == len(wrong) == 2 and right == wrong[::-1]:
        yield _SWAP
    if right:
        yield _DROP
    if wrong:
        yield _INSERT
