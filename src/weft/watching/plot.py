"""A panel in a terminal: a title, curves, and both axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from weft.watching.canvas import Canvas, Cell, Dot
from weft.watching.panels import FROM_ZERO, LOGARITHMIC, Curve, Panel
from weft.watching.scale import Scale, scale_of, short
from weft.watching.thinning import thinned

COLOURS = ("color(32)", "color(166)", "color(29)", "color(133)", "color(30)", "color(167)")  # on black and on white
SIGNS = "●▲■◆★▼"  # of the runs, in the order of the colours: where a curve ends
VALIDATIONS = "○△□◇☆▽"
AXIS = "color(244)"
LABEL = 4  # letters at least, so that axes stand below each other
ROOM = 3  # cells from one sign to the next


def colour_of(run: int) -> str:
    return COLOURS[run % len(COLOURS)]


def sign_of(run: int, *, validation: bool = False) -> str:
    return (VALIDATIONS if validation else SIGNS)[run % len(SIGNS)]


def plot(panel: Panel, last: int, width: int, height: int) -> list[Text]:
    """So many lines, none of them wider; the axis goes up to the step that is the last of all."""
    rows = height - 2
    upward = scale_of(values_of(panel), (rows + 3) // 3, logarithmic=panel.name in LOGARITHMIC)
    labels = labels_of(upward, rows)
    margin = max(LABEL, *map(len, labels)) + 2
    canvas = Canvas(width - margin - 1, rows)
    for curve in panel.curves:
        draw(canvas, curve, upward, last, joined=not (curve.validation and panel.is_mixed))
    edges = [Text().append(f" {label.rjust(margin - 2)}{'┤' if label else '│'}", AXIS) for label in labels]
    drawn = [edge.append_text(painted(row)) for edge, row in zip(edges, canvas.rows(), strict=True)]
    return [heading(panel), *drawn, across(last, margin, canvas.width)]


def values_of(panel: Panel) -> list[float]:
    """All that the axis has to hold."""
    return [value for curve in panel.curves for _, value in curve.points] + [0.0] * (panel.name in FROM_ZERO)


def heading(panel: Panel) -> Text:
    title = Text().append(f" {panel.title}", "bold")
    if panel.is_mixed:
        run = panel.curves[0].run
        title.append(f"  {sign_of(run)} training  {sign_of(run, validation=True)} validation", AXIS)
    return title


def draw(canvas: Canvas, curve: Curve, upward: Scale, last: int, *, joined: bool) -> None:
    """A line with a sign at its end; of validations, each has one, as far as there is room."""
    kept = thinned(curve.points, 2 * canvas.width)
    dots = [canvas.dot((step / max(1, last), upward.place(value))) for step, value in kept]
    if joined:
        canvas.line(dots, curve.run)
    for dot in apart(dots) if curve.validation else dots[-1:]:
        canvas.sign(dot, sign_of(curve.run, validation=curve.validation), curve.run)


def apart(dots: Sequence[Dot]) -> Iterator[Dot]:
    """The last, and before it those that are not too near to the next."""
    column: int | None = None
    for dot in reversed(dots):
        if column is None or column - dot[0] >= 2 * ROOM:
            column = dot[0]
            yield dot


def labels_of(upward: Scale, rows: int) -> list[str]:
    """What stands at the axis, from the top."""
    labels = [""] * rows
    for tick in upward.ticks:
        labels[round((1 - upward.place(tick)) * (rows - 1))] = short(tick)
    return labels


def painted(row: Sequence[Cell]) -> Text:
    """In the colours of the owners."""
    text = Text()
    for owner, cells in groupby(row, lambda cell: cell.owner):
        text.append("".join(cell.letter for cell in cells), "" if owner is None else colour_of(owner))
    return text


def across(last: int, margin: int, width: int) -> Text:
    """The axis of steps, with round ones written on it."""
    line = list("─" * width)
    free = 0
    for tick in scale_of([0, last], max(2, width // 9)).ticks:
        label = short(tick) if tick else "step 0"
        start = min(width - len(label), max(0, round(tick / max(1, last) * width) - len(label) // 2))
        if tick <= last and start >= free:
            line[start : start + len(label)] = label
            free = start + len(label) + 1
    return Text(f"{' ' * (margin - 1)}└{''.join(line)}", AXIS)
