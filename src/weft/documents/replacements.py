"""Replacement of parts of a file; everything else is copied."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import AnyStr, Generic, NamedTuple


class Replacement(NamedTuple):
    """What replaces a text from `first` to before `end`."""

    first: int
    end: int
    text: str


def replace_ranges(text: str, replacements: Iterable[Replacement]) -> str:
    """Return a text with parts replaced, which do not overlap."""
    edits = Edits(text)
    for replacement in replacements:
        edits.replace(*replacement)
    return edits.render(0, len(text))


class Edits(Generic[AnyStr]):
    """Collects replacements of parts of a file, from `first` to before `end`, and applies them.

    Replacements may be nested: the inner one is made first, and the outer one contains or replaces it.
    """

    def __init__(self, content: AnyStr):
        self._content: AnyStr = content
        self._firsts: list[int] = []
        self._edits: list[tuple[int, AnyStr]] = []  # end and replacement, sorted by `first`

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def replace(self, first: int, end: int, replacement: AnyStr) -> None:
        """Replace a part; earlier replacements inside of it are discarded."""
        start, stop = self._inside(first, end)
        self._firsts[start:stop] = [first]
        self._edits[start:stop] = [(end, replacement)]

    def render(self, first: int, end: int) -> AnyStr:
        """Return a part of the file with the replacements inside of it."""
        start, stop = self._inside(first, end)
        pieces, reached = list[AnyStr](), first
        for position, (edit_end, replacement) in zip(self._firsts[start:stop], self._edits[start:stop], strict=True):
            pieces += [self._content[reached:position], replacement]
            reached = edit_end
        pieces.append(self._content[reached:end])
        return self._content[:0].join(pieces)

    def _inside(self, first: int, end: int) -> tuple[int, int]:
        """Return the range of the replacements between two positions; an insertion at `end` is outside."""
        return bisect_left(self._firsts, first), bisect_left(self._firsts, end)
