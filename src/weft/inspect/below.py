"""The picture of a grid below the picture that a model read: each column of squares is below what it is about."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from weft.inspect.columns import Seen
from weft.inspect.grid import Grid
from weft.inspect.lettering import FAINT, INK, TITLE_SIZE, colour_names, short, title_of, widest
from weft.inspect.squares import add_scale, draw_lines_between
from weft.text.words import Span

FONT, AXIS_FONT = 10.5, 8.0  # points
PAGE = 12.0  # inches: what a picture fills, if that makes its columns neither tiny nor huge
TOLD = "#2f78b7"  # the colour of what is told, in the middle of the squares'


class Layout(NamedTuple):
    """Sizes in inches: of a part, which is a column of the grid; of a row of it; of the picture, and the gap below."""

    part: float
    row: float
    picture: float
    gap: float
    angle: int  # of the spans' names, in degrees
    width: float
    height: float

    @classmethod
    def of(cls, grid: Grid, seen: Seen, spans: Sequence[Span]) -> "Layout":
        rows, parts = grid.values.shape
        part = min(0.4, max(0.14, PAGE / parts))
        row = max(0.22, min(0.3, part))
        picture = len(seen.ink) * part / seen.columns
        longest = widest([span.name for span in spans], FONT) if spans else 0.0
        angle = 0 if longest <= part else 90
        gap = 0.12 + (max(longest, 0.2) if angle else 0.2) * bool(spans)
        return cls(part, row, picture, gap, angle, parts * part, picture + gap + rows * row)

    @property
    def dots(self) -> float:
        """Dots an inch: fine, but of long pictures no more than screens and memory hold."""
        return min(200.0, 8000 / max(self.width, self.height))


def draw_below(grid: Grid, seen: Seen, spans: Sequence[Span] = ()) -> Figure:
    """The whole picture; what stands around the squares may lie outside, so save it with bbox_inches="tight".

    spans: parts that tell something, by its name; it stands above their squares, and they are marked in the picture.
    """
    layout = Layout.of(grid, seen, spans)
    whole = Figure(figsize=(layout.width, layout.height), dpi=layout.dots)
    above = whole.add_axes((0, 1 - layout.picture / layout.height, 1, layout.picture / layout.height))
    draw_picture(above, seen, spans)
    title = title_of(grid.title, grid.remarks, layout.width + 0.7)
    above.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12, linespacing=1.4, parse_math=False)
    below = whole.add_axes((0, 0, 1, len(grid.rows) * layout.row / layout.height))
    image = below.imshow(grid.values, cmap="Blues", vmin=0, vmax=grid.darkest, interpolation="nearest", aspect="auto")
    draw_lines_between(below, grid)
    name_rows_and_spans(below, grid, spans, layout.angle)
    for axes in (above, below):
        axes.set_xlim(-0.5, len(grid.columns) - 0.5)
    add_scale(whole, image, grid.scale)
    return whole


def draw_picture(axes: Axes, seen: Seen, spans: Sequence[Span]) -> None:
    """Dark ink on white paper, whatever the file has, with the numbers of the columns above it.

    The unit of the axis is a part, as below, and the middle of the first part is 0.
    """
    height, columns = seen.ink.shape
    place = -0.5, columns / seen.columns - 0.5, height, 0
    axes.imshow(seen.ink, cmap="gray_r", vmin=0, vmax=255, interpolation="nearest", aspect="auto", extent=place)
    for span in spans:
        axes.axvspan(span.first - 0.5, span.end - 0.5, color=TOLD, alpha=0.25, linewidth=0)
    axes.spines[:].set_color(FAINT)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    numbers = [int(number) for number in MaxNLocator(integer=True).tick_values(0, columns) if number <= columns]
    axes.set_xticks([number / seen.columns - 0.5 for number in numbers], [str(number) for number in numbers])
    axes.tick_params(labelsize=AXIS_FONT, length=2, color=FAINT, labelcolor=FAINT)


def name_rows_and_spans(axes: Axes, grid: Grid, spans: Sequence[Span], angle: int) -> None:
    """The rows' names on the left; those of the spans above the middle of each."""
    axes.xaxis.tick_top()
    axes.set_xticks([(span.first + span.end - 1) / 2 for span in spans], [short(span.name) for span in spans])
    axes.set_yticks(range(len(grid.rows)), [short(name) for name in grid.rows])
    axes.tick_params(length=0, labelsize=FONT, pad=4)
    axes.tick_params(axis="x", labelrotation=angle)
    colour_names([*axes.get_xticklabels(), *axes.get_yticklabels()])
