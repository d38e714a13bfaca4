"""The picture of a grid: a square for each pair of a row and a column, the darker the more."""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from weft.inspect.grid import Grid
from weft.inspect.lettering import FAINT, INK, LINES, TITLE_SIZE, colour_names, short, title_of, widest


class Layout(NamedTuple):
    """Sizes that follow from the number of rows and columns: in inches, but `font` in points and `angle` in degrees."""

    square: float
    width: float
    height: float
    font: float
    angle: int  # of the columns' names

    @classmethod
    def of(cls, grid: Grid) -> "Layout":
        rows, columns = grid.values.shape
        square = min(0.4, max(0.17, 12 / max(rows, columns)))
        font = min(10.5, square * 72 * 0.62)
        angle = 0 if widest(grid.columns, font) < square else 45 if square > 0.22 else 90
        return cls(square, columns * square, rows * square, font, angle)

    @property
    def dots(self) -> float:
        """Dots an inch: fine, but with hundreds of rows or columns no more than screens and memory hold."""
        return min(200.0, 8000 / max(self.width, self.height))


def draw_squares(grid: Grid) -> Figure:
    """The whole picture; what stands around the squares may lie outside, so save it with bbox_inches="tight"."""
    layout = Layout.of(grid)
    whole = Figure(figsize=(layout.width, layout.height), dpi=layout.dots)
    axes = whole.add_axes((0, 0, 1, 1))
    image = axes.imshow(grid.values, cmap="Blues", vmin=0, vmax=grid.darkest, interpolation="nearest", aspect="auto")
    draw_lines_between(axes, grid)
    name_rows_and_columns(axes, grid, layout)
    title = title_of(grid.title, grid.remarks, layout.width + 0.7)
    axes.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12, linespacing=1.4, parse_math=False)
    add_scale(whole, image, grid.scale)
    return whole


def draw_lines_between(axes: Axes, grid: Grid) -> None:
    rows, columns = grid.values.shape
    axes.vlines([place - 0.5 for place in range(columns + 1)], -0.5, rows - 0.5, color=LINES, linewidth=0.6)
    axes.hlines([place - 0.5 for place in range(rows + 1)], -0.5, columns - 0.5, color=LINES, linewidth=0.6)
    axes.spines[:].set_visible(False)


def name_rows_and_columns(axes: Axes, grid: Grid, layout: Layout) -> None:
    """The columns' names above, the rows' on the left."""
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(grid.columns)), [short(name) for name in grid.columns])
    axes.set_yticks(range(len(grid.rows)), [short(name) for name in grid.rows])
    axes.tick_params(length=0, labelsize=layout.font, pad=4)
    for label in axes.get_xticklabels():
        label.set(rotation=layout.angle, rotation_mode="anchor", va="center" if layout.angle == 90 else "baseline")
        label.set_horizontalalignment("left" if layout.angle else "center")
    colour_names([*axes.get_xticklabels(), *axes.get_yticklabels()])


def add_scale(whole: Figure, image: AxesImage, name: str) -> None:
    """A small colour bar on the right of the squares, at their top, where the reader of a tall picture begins."""
    squares, (width, height) = image.axes.get_position(), whole.get_size_inches()
    share = max(min(squares.height * height, 1.5), 0.6) / height
    place = whole.add_axes((squares.x1 + 0.25 / width, squares.y1 - share, 0.12 / width, share))
    bar = whole.colorbar(image, cax=place)
    bar.outline.set_visible(False)
    bar.set_label(name, fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, length=2, color=FAINT, labelcolor=INK)
