"""Charts of lines over the steps of a run, as SVG in the page's own colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from weft.markup.elements import Html, element, join, text
from weft.report.axes import Axis, figure, from_nothing, short

WIDTH, HEIGHT = 440, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 418, 12, 194  # of what is drawn into; the last step has its half to the right
MOST_POINTS, MOST_BANDS = 1000, 90

Point: TypeAlias = tuple[float, float]


class Line(NamedTuple):
    """A name, the number of a colour, and a value for each of some steps."""

    name: str
    colour: int
    points: Sequence[Point]


class Chart(NamedTuple):
    """Lines over the same steps. level: a value to compare with, by its name. up: from the values to their axis."""

    title: str
    lines: Sequence[Line]
    up: Axis
    level: tuple[str, float] | None = None


class Frame(NamedTuple):
    """What all charts of a run share: its last step, the best one if there is one, and where something was diagnosed.

    So curves can be compared from chart to chart.
    """

    last: float
    best: float | None = None
    noted: Sequence[float] = ()

    def axis(self) -> Axis:
        return from_nothing([self.last])._replace(high=self.last)


def drawn(chart: Chart, frame: Frame) -> Html:
    """The chart with its title and the names of its lines, and after each name its last value."""
    names = join((_key(line) for line in chart.lines), " ")
    over = frame.axis()
    parts = [*_grid(chart.up, over), *_marks(chart, frame, over), *(_curve(line, chart, over) for line in chart.lines)]
    attributes = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": told(chart)}
    picture = element("svg", join([*parts, *_bands(chart, over)]), attributes=attributes)
    heading = element("figcaption", join([element("strong", chart.title), element("span", names, "legend")]))
    return element("figure", join([heading, picture]), "chart")


def told(chart: Chart) -> str:
    """The chart in a sentence, for those who cannot see it."""
    return f"{chart.title} over the steps. " + " ".join(_told(line) for line in chart.lines)


def values(lines: Sequence[Line]) -> list[float]:
    return [value for line in lines for _, value in line.points]


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many: of neighbours the lowest and the highest, in their order, so that every peak stays."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / (most // 2))
    parts = (points[first : first + size] for first in range(0, len(points), size))
    ends = ({min(part, key=_value), max(part, key=_value)} for part in parts)
    return [point for some in ends for point in sorted(some)]


def _value(point: Point) -> float:
    return point[1]


def _told(line: Line) -> str:
    (first, began), (last, ended) = line.points[0], line.points[-1]
    if len(line.points) == 1:
        return f"{line.name}: {figure(began)} at step {first:,.0f}."
    return f"{line.name}: from {figure(began)} at step {first:,.0f} to {figure(ended)} at step {last:,.0f}."


def _key(line: Line) -> Html:
    swatch = element("span", "", f"stroke s{line.colour}")
    last = element("b", figure(line.points[-1][1]))
    return element("span", join([swatch, text(f"{line.name} "), last]), "key")


def _x(over: Axis, step: float) -> float:
    return LEFT + (RIGHT - LEFT) * over(step)


def _y(up: Axis, value: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * up(value)


def _grid(up: Axis, over: Axis) -> Iterator[Html]:
    """A line across for each tick, and its value on the left; the steps below."""
    for tick in up.ticks:
        place = _y(up, tick)
        yield _line(LEFT, place, RIGHT, place, "grid")
        yield _label(LEFT - 6, place + 4, short(tick), "end")
    for tick in over.ticks:
        if tick <= over.high:
            yield _label(_x(over, tick), HEIGHT - 10, short(tick) if tick else "step 0", "middle")


def _marks(chart: Chart, frame: Frame, over: Axis) -> Iterator[Html]:
    """The step of the best model, what was diagnosed, and what to compare with."""
    if frame.best is not None:
        place = _x(over, frame.best)
        yield _line(place, TOP - 4, place, BOTTOM, "best", f"the best model: step {frame.best:,.0f}")
    for step in frame.noted:
        place = _x(over, min(step, frame.last))  # the update after the last is one that could not be made
        yield element("path", "", "noted", {"d": f"M{place:.1f} {TOP + 3}l-5 -9h10z"})
    if chart.level is not None and chart.up.low <= chart.level[1] <= chart.up.high:
        name, value = chart.level
        place = _y(chart.up, value)
        yield _line(LEFT, place, RIGHT, place, "level")
        yield _label(RIGHT, place - 4, f"{name} {short(value)}", "end")


def _curve(line: Line, chart: Chart, over: Axis) -> Html:
    """The line, with a dot at its end; of few points, one at each."""
    points = thinned(line.points)
    places = [(_x(over, step), _y(chart.up, value)) for step, value in points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dotted = places if len(places) <= 30 else places[-1:]
    dots = [element("circle", "", "", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "2.6"}) for x, y in dotted]
    return element("g", join([element("path", "", "", {"d": path}), *dots]), f"curve c{line.colour}")


def _bands(chart: Chart, over: Axis) -> Iterator[Html]:
    """Strips over the whole chart, each of which tells a pointer the values at a step."""
    steps = sorted({step for line in chart.lines for step, _ in line.points})
    steps = steps[:: math.ceil(len(steps) / MOST_BANDS)]
    known = [dict(line.points) for line in chart.lines]
    edges = [LEFT, *((_x(over, one) + _x(over, next_)) / 2 for one, next_ in pairwise(steps)), RIGHT]
    for step, (left, right) in zip(steps, pairwise(edges), strict=True):
        found = zip(chart.lines, known, strict=True)
        lines = [f"{line.name} {figure(values[step])}" for line, values in found if step in values]
        title = element("title", ", ".join([f"step {step:,.0f}", *lines]))
        place = {"x": f"{left:.1f}", "y": f"{TOP}", "width": f"{right - left:.1f}", "height": f"{BOTTOM - TOP}"}
        yield element("rect", title, "band", place)


def _line(x1: float, y1: float, x2: float, y2: float, style: str, title: str = "") -> Html:
    inner = element("title", title) if title else text("")
    return element("path", inner, style, {"d": f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"})


def _label(x: float, y: float, content: str, anchor: str) -> Html:
    return element("text", content, "", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor})
