"""Numbers in rows and columns as SVG: a square for each, the darker the more, maybe below the picture that was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np

from weft.core.marks import NAMES
from weft.inspect.columns import Seen
from weft.inspect.grid import Grid, Numbers
from weft.inspect.lettering import short
from weft.markup.elements import Html, element, join
from weft.report.ink import png
from weft.text.words import Span

SQUARE, NARROW, FULL = 22.0, 6.0, 760.0  # a square, the narrowest column, and how wide a picture may become
LEAST = 0.8  # of its size, in a narrow window: below that it is scrolled
LETTER = 7.6  # how wide one of a name is, at most, in the mean
MARGIN = 6.0
LEVELS = 12  # of darkness
FAINTEST = 0.03  # what is less is not drawn
MANY = 2500  # squares, which would make the page heavy if each were an element


class Layout(NamedTuple):
    """Where the squares begin, and how large they are; turned: names of columns that are longer than these."""

    left: float
    top: float
    column: float
    row: float
    turned: bool
    picture: float  # how high the picture above is

    @classmethod
    def of(cls, grid: Grid, seen: Seen | None, names: Sequence[str]) -> Layout:
        columns = grid.values.shape[1]
        column = SQUARE if seen is None else min(SQUARE, max(NARROW, FULL / columns))
        longest = max(map(width, names), default=0.0)
        turned = seen is None and longest > column - 2
        picture = 0.0 if seen is None else len(seen.ink) * column / seen.columns + MARGIN
        above = (longest * 0.72 + 14) if turned else 20.0
        return cls(max(map(width, grid.rows)) + 10, picture + above, column, SQUARE, turned, picture)

    def size(self, grid: Grid) -> tuple[float, float]:
        rows, columns = grid.values.shape
        lean = self.top * 0.9 if self.turned else MARGIN  # of the last name
        return self.left + columns * self.column + lean, self.top + rows * self.row + MARGIN


def squares(grid: Grid, seen: Seen | None = None, spans: Sequence[Span] = ()) -> Html:
    """The whole picture, scrolled by itself where the window is too narrow. spans: names of columns below a picture."""
    named = spans if seen is not None else [Span(name, n, n + 1) for n, name in enumerate(grid.columns)]
    layout = Layout.of(grid, seen, [span.name for span in named])
    wide, high = layout.size(grid)
    parts = [*_picture(seen, layout), *_columns(named, layout), *_rows(grid, layout), *_cells(grid, layout)]
    attributes = {
        "viewBox": f"0 0 {wide:.0f} {high:.0f}",
        "role": "img",
        "aria-label": told(grid),
        "style": f"width: {wide:.0f}px; min-width: {LEAST * wide:.0f}px",
    }
    picture = element("svg", join(parts), "squares", attributes)
    return element("div", picture, "wide", {"tabindex": "0", "role": "group", "aria-label": grid.scale})


def small(values: Numbers, label: str) -> Html:
    """Squares without names, a few dots each, under a label."""
    rows, columns = values.shape
    attributes = {"viewBox": f"0 0 {columns} {rows}", "role": "img", "aria-label": label}
    picture = element("svg", join(_by_level(values)), "small", attributes)
    return element("figure", join([picture, element("figcaption", label)]))


def told(grid: Grid) -> str:
    """The picture in words: of each row, the column that has most."""
    most = (f"{name}: {grid.columns[int(row.argmax())]}" for name, row in zip(grid.rows, grid.values, strict=True))
    return f"{grid.scale}, for each row the column that has most. " + "; ".join(most)


def width(name: str) -> float:
    """About how wide a name is drawn."""
    return LETTER * sum(2 if east_asian_width(letter) in "WF" else 1 for letter in short(name))


def _by_level(shares: Numbers) -> list[Html]:
    """Squares of the size 1, those of one darkness in one path."""
    found: dict[int, list[str]] = {}
    for (row, column), share in np.ndenumerate(shares):
        if level := round(LEVELS * min(1.0, float(share))):
            found.setdefault(level, []).append(f"M{column} {row}h1v1h-1z")
    return [
        element("path", "", "cell", {"fill-opacity": f"{level / LEVELS:.2f}", "d": "".join(places)})
        for level, places in found.items()
    ]


def _picture(seen: Seen | None, layout: Layout) -> Iterator[Html]:
    """What was read, dark ink on white paper, in daylight or not."""
    if seen is not None:
        columns = seen.ink.shape[1]
        place = {
            "href": png(seen.ink),
            "x": f"{layout.left:.1f}",
            "y": "0",
            "width": f"{columns * layout.column / seen.columns:.1f}",
            "height": f"{layout.picture - MARGIN:.1f}",
            "preserveAspectRatio": "none",
        }
        yield element("image", "", "", place)


def _columns(spans: Sequence[Span], layout: Layout) -> Iterator[Html]:
    for span in spans:
        x, y = layout.left + (span.first + span.end) / 2 * layout.column, layout.top - 6
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": "start" if layout.turned else "middle"}
        if layout.turned:
            attributes["transform"] = f"rotate(-46 {x:.1f} {y:.1f})"
        yield _name(span.name, attributes)


def _rows(grid: Grid, layout: Layout) -> Iterator[Html]:
    for number, name in enumerate(grid.rows):
        y = layout.top + (number + 0.5) * layout.row + 4
        yield _name(name, {"x": f"{layout.left - 6:.1f}", "y": f"{y:.1f}", "text-anchor": "end"})


def _name(name: str, attributes: dict[str, str]) -> Html:
    """Marks are fainter than words."""
    return element("text", short(name), "mark" if name in NAMES else "", attributes)


def _cells(grid: Grid, layout: Layout) -> Iterator[Html]:
    """The ground, and over it the squares."""
    rows, columns = grid.values.shape
    whole = {
        "x": f"{layout.left:.1f}",
        "y": f"{layout.top:.1f}",
        "width": f"{columns * layout.column:.1f}",
        "height": f"{rows * layout.row:.1f}",
    }
    yield element("rect", "", "ground", whole)
    shares = grid.values / (grid.darkest or max(float(grid.values.max()), 1e-9))
    if shares.size <= MANY:
        yield from _telling(grid, shares, layout)
        return
    place = f"translate({layout.left:.1f} {layout.top:.1f}) scale({layout.column:.2f} {layout.row:.2f})"
    yield element("g", join(_by_level(shares)), "", {"transform": place})


def _telling(grid: Grid, shares: Numbers, layout: Layout) -> Iterator[Html]:
    """What is more than hardly anything; each square tells a pointer its number."""
    gap = min(1.0, layout.column / 10)
    for (row, column), share in np.ndenumerate(shares):
        if share >= FAINTEST:
            title = element("title", f"{grid.rows[row]}, {grid.columns[column]}: {grid.values[row, column]:.2f}")
            place = {
                "x": f"{layout.left + column * layout.column:.1f}",
                "y": f"{layout.top + row * layout.row:.1f}",
                "width": f"{layout.column - gap:.1f}",
                "height": f"{layout.row - 1:.1f}",
                "fill-opacity": f"{min(1.0, float(share)):.2f}",
            }
            yield element("rect", title, "cell", place)
