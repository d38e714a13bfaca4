"""Numbers from 0 to 1 as a table of tinted squares, and other tints: on any ground, light or dark.

A tint is a colour that the ground shines through, and letters are in the reader's own colour, so that nothing needs to
be known of the page. What a colour tells is always told by a number too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.core.marks import NAMES
from weft.markup.elements import Html, element, join

BLUE, ORANGE = (64, 132, 204), (226, 98, 20)
STRONGEST = 0.68  # so that letters on the tint stay readable in the colour that they have on the ground
FAINT = 0.05  # below this a number is hardly worth reading
MANY = 20  # columns, from which on they are narrower
LEAST = 0.005  # below this it would be written as 0


class Line(NamedTuple):
    """A row: its name, a number for each column, and how probable what it stands for was (None: not known)."""

    name: str
    values: Sequence[float]
    sure: float | None = None


def heat(caption: str, columns: Sequence[str], lines: Sequence[Line]) -> Html:
    """The table, which a screen reader reads as one; it scrolls by itself where the window is too narrow."""
    told = any(line.sure is not None for line in lines)
    heads = [element("td", ""), *([_head("probability", "weft-sure")] if told else []), *map(_head, columns)]
    parts = [
        element("caption", caption),
        element("thead", element("tr", join(heads))),
        element("tbody", join(_row(line, told) for line in lines)),
    ]
    table = element("table", join(parts), "weft-many" if len(columns) > MANY else "")
    return element("div", table, "weft-wide", {"tabindex": "0", "role": "region", "aria-label": caption})


def certainty(probability: float) -> str:
    """The colour of an underline: the less probable, the more orange."""
    return _tint(ORANGE, 1 - 0.88 * probability)


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _head(name: str, style: str = "") -> Html:
    inner = element("span", name, attributes={"title": name})
    return element("th", inner, style or _mark(name), {"scope": "col"})


def _row(line: Line, told: bool) -> Html:
    name = element("th", line.name, _mark(line.name), {"scope": "row"})
    return element("tr", join([name, *([_sure(line.sure)] if told else []), *map(_cell, line.values)]))


def _cell(value: float) -> Html:
    written = f"{100 * value:.0f}" if value >= LEAST else ""
    tint = {"style": f"background: {_tint(BLUE, STRONGEST * min(1.0, value))}"}
    return element("td", written, "weft-faint" if value < FAINT else "", tint)


def _sure(probability: float | None) -> Html:
    if probability is None:
        return element("td", "", "weft-sure")
    line = {"style": f"border-bottom-color: {certainty(probability)}"}
    return element("td", element("span", percent(probability), attributes=line), "weft-sure")


def _mark(name: str) -> str:
    """The style of a name: marks are fainter than words."""
    return "weft-mark" if name in NAMES else ""


def _tint(colour: tuple[int, int, int], share: float) -> str:
    return f"rgba({', '.join(map(str, colour))}, {share:.3f})"
