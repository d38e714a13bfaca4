"""Bar charts: a group of bars for each class, a bar for each system, always in the system's colour."""

from __future__ import annotations

from collections.abc import Sequence

from weft.markup.elements import Html, element, join, text
from weft.metric.breakdown import Class

COLOURS = 6  # of the style sheet: s0 ... s5


def key(number: int, name: str) -> Html:
    """A system's name after its colour."""
    return element("span", join([element("span", "", f"swatch s{number % COLOURS}"), text(name)]), "key")


def bars(classes: Sequence[Class], names: Sequence[str], unit: str) -> Html:
    """Horizontal, from 0 to the largest score; a table, so that it is read aloud in order. unit: what a class holds."""
    largest = max([1.0, *(score for one in classes for score in one.scores)])
    legend = element("p", join((key(number, name) for number, name in enumerate(names)), " "), "legend")
    rows = join(_bar(one, number, names, (largest, unit)) for one in classes for number in range(len(names)))
    return join([legend, element("table", rows, "bars")])


def _bar(one: Class, number: int, names: Sequence[str], scale: tuple[float, str]) -> Html:
    """A row: a bar as long as its share of the largest score. Before the first of a class stands what it is."""
    largest, unit = scale
    heads = []
    if number == 0:
        size = element("small", f"{one.size:,} {unit}")
        heads.append(element("th", join([text(one.label), size], " "), attributes={"rowspan": str(len(names))}))
    share = {"style": f"--share: {max(0.0, one.scores[number]) / largest:.4f}"}
    shape = element("span", "", f"bar s{number % COLOURS}", share)
    said = join([element("span", f"{names[number]}: ", "unseen"), shape, text(f" {one.scores[number]:.1f}")])
    return element("tr", join([*heads, element("td", said)]), "first" if heads else "")
