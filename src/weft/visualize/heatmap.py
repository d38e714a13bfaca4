"""Draw a matrix with named rows and columns as a heat map: attention weights, gate activations, frame posteriors.

If the source is an image, it is drawn above, and each column of the heat map stands below the pixels it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.text.word_alignment import TokenSpan
from weft.visualize.figures import (
    GRID_COLOR,
    MUTED_COLOR,
    SERIES_COLORS,
    SOURCE_ID,
    TEXT_COLOR,
    add_hover_text,
    color_labels,
    max_label_width,
    page_svg,
    resolution,
    set_title,
    shorten_label,
)
from weft.visualize.translation_trace import FloatArray

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from torch import Tensor

CELL_COLOR = SERIES_COLORS[0]
SPAN_FONT_SIZE, AXIS_FONT_SIZE = 10.5, 8.0  # points
IMAGE_WIDTH = 12.0  # inches that an image fills, unless its positions would become tiny or huge
PROBE_COLUMNS = 64  # a multiple of every encoder's stride
MAX_HOVER_CELLS = 2500  # larger heat maps have no hover texts: they would make the page heavy
MIN_HOVER_SHARE = 0.03  # of the largest value


class Heatmap(NamedTuple):
    """A matrix of values [R,C] >= 0 and the texts of its figure."""

    title: tuple[str, ...]  # paragraphs
    remarks: tuple[str, ...]  # lines below the title
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray
    value_name: str
    max_value: float | None = None  # drawn in full color; None: the largest value


class SourceImage(NamedTuple):
    """The image that a model reads: pixels [H,T] from 0 (paper) to 255 (ink), with an empty column at the end.

    stride: columns per position of the model's output; below 1 if a column has several positions.
    """

    pixels: NDArray[np.uint8]
    stride: float


def read_source_image(source: Padded, output_mask: Callable[[Padded], Tensor]) -> SourceImage:
    """Return the image `source` [1,T,H] with the stride of the model, measured on empty images of two lengths.

    output_mask: maps an image to the mask [1,F] of the model's output.
    """
    height = source.data.shape[2]
    short, long = (
        output_mask(Padded.unpadded(source.data.new_zeros(1, columns, height))).shape[1]
        for columns in (PROBE_COLUMNS, 2 * PROBE_COLUMNS)
    )
    if long != 2 * short:
        raise UserError(
            f"the positions of this model do not correspond to image columns: {PROBE_COLUMNS} columns give {short} "
            f"positions, and {2 * PROBE_COLUMNS} give {long}"
        )
    return SourceImage(source.data[0].T.cpu().numpy(), PROBE_COLUMNS / short)


class HeatmapLayout(NamedTuple):
    """Sizes in inches, except `font_size` in points and `angle` (of the column labels) in degrees."""

    row_height: float
    image_height: float
    gap: float  # between image and heat map
    font_size: float
    angle: int
    width: float
    height: float

    @classmethod
    def of(cls, heatmap: Heatmap, image: SourceImage | None = None, spans: Sequence[TokenSpan] = ()) -> HeatmapLayout:
        rows, columns = heatmap.values.shape
        if image is None:
            cell = min(0.4, max(0.17, 12 / max(rows, columns)))
            font_size = min(10.5, cell * 72 * 0.62)
            angle = 0 if max_label_width(heatmap.columns, font_size) < cell else 45 if cell > 0.22 else 90
            return cls(cell, 0, 0, font_size, angle, columns * cell, rows * cell)
        cell = min(0.4, max(0.14, IMAGE_WIDTH / columns))
        row_height = max(0.22, min(0.3, cell))
        image_height = len(image.pixels) * cell / image.stride
        longest = max_label_width([span.name for span in spans], SPAN_FONT_SIZE) if spans else 0.0
        angle = 0 if longest <= cell else 90
        gap = 0.12 + (max(longest, 0.2) if angle else 0.2) * bool(spans)
        height = image_height + gap + rows * row_height
        return cls(row_height, image_height, gap, SPAN_FONT_SIZE, angle, columns * cell, height)


def draw_heatmap(
    heatmap: Heatmap, image: SourceImage | None = None, spans: Sequence[TokenSpan] = (), *, hover: bool = False
) -> Figure:
    """Draw the heat map. Labels may exceed the figure's size: save it with bbox_inches="tight".

    spans: named ranges of columns, labeled and marked in the image; without an image every column has its own label.
    hover: add the value of each cell as a hover text.
    """
    from matplotlib.figure import Figure

    rows, columns = heatmap.values.shape
    layout = HeatmapLayout.of(heatmap, image, spans)
    figure = Figure(figsize=(layout.width, layout.height), dpi=resolution(layout.width, layout.height))
    above = None
    if image is not None:
        share = layout.image_height / layout.height
        above = figure.add_axes((0, 1 - share, 1, share))
        _draw_source_image(above, image, spans, columns)
    cells = figure.add_axes((0, 0, 1, rows * layout.row_height / layout.height))
    drawn = cells.imshow(
        heatmap.values, cell_colors(), vmin=0, vmax=heatmap.max_value, interpolation="none", aspect="auto"
    )
    cells.vlines([column - 0.5 for column in range(columns + 1)], -0.5, rows - 0.5, color=GRID_COLOR, linewidth=0.6)
    cells.hlines([row - 0.5 for row in range(rows + 1)], -0.5, columns - 0.5, color=GRID_COLOR, linewidth=0.6)
    cells.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    cells.spines[:].set_visible(False)
    named = [TokenSpan(name, n, n + 1) for n, name in enumerate(heatmap.columns)] if image is None else spans
    _label_cells(cells, heatmap.rows, named, layout)
    set_title(above or cells, heatmap.title, heatmap.remarks, layout.width + 0.7)
    _add_color_bar(figure, drawn, heatmap.value_name)
    if hover:
        _add_hover_texts(cells, heatmap)
    return figure


def cell_colors() -> Colormap:
    """Return the color map of the cells, from transparent to full color."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weft", [f"{CELL_COLOR}00", CELL_COLOR])


def heatmap_svg(heatmap: Heatmap, image: SourceImage | None = None, spans: Sequence[TokenSpan] = ()) -> Markup:
    """Draw a heat map for an HTML page, without its title; screen readers read the largest column of each row."""
    largest = (
        f"{name}: {heatmap.columns[int(row.argmax())]}" for name, row in zip(heatmap.rows, heatmap.values, strict=True)
    )
    description = f"{heatmap.value_name}; the largest column of each row: {'; '.join(largest)}"
    untitled = heatmap._replace(title=(), remarks=())
    return page_svg(lambda: draw_heatmap(untitled, image, spans, hover=True), description)


def _draw_source_image(axes: Axes, image: SourceImage, spans: Sequence[TokenSpan], columns: int) -> None:
    """Draw dark ink on white paper. The unit of the x-axis is a column of the heat map; the ticks count pixels."""
    from matplotlib.ticker import MaxNLocator

    height, width = image.pixels.shape
    extent = -0.5, width / image.stride - 0.5, height, 0
    drawn = axes.imshow(
        image.pixels, cmap="gray_r", vmin=0, vmax=255, interpolation="none", aspect="auto", extent=extent
    )
    drawn.set_gid(SOURCE_ID)
    for span in spans:
        axes.axvspan(span.first - 0.5, span.end - 0.5, color=CELL_COLOR, alpha=0.25, linewidth=0)
    axes.spines[:].set_color(MUTED_COLOR)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    ticks = [int(tick) for tick in MaxNLocator(integer=True).tick_values(0, width) if tick <= width]
    axes.set_xticks([tick / image.stride - 0.5 for tick in ticks], [str(tick) for tick in ticks])
    axes.tick_params(labelsize=AXIS_FONT_SIZE, length=2, color=MUTED_COLOR, labelcolor=MUTED_COLOR)
    axes.set_xlim(-0.5, columns - 0.5)


def _label_cells(axes: Axes, rows: Sequence[str], spans: Sequence[TokenSpan], layout: HeatmapLayout) -> None:
    """Put row labels on the left and the label of each span above its middle."""
    axes.xaxis.tick_top()
    axes.set_xticks([(span.first + span.end - 1) / 2 for span in spans], [shorten_label(span.name) for span in spans])
    axes.set_yticks(range(len(rows)), [shorten_label(name) for name in rows])
    axes.tick_params(length=0, labelsize=layout.font_size, pad=4)
    for label in axes.get_xticklabels():
        label.set(rotation=layout.angle, rotation_mode="anchor", va="center" if layout.angle == 90 else "baseline")
        label.set_horizontalalignment("left" if layout.angle else "center")
    color_labels([*axes.get_xticklabels(), *axes.get_yticklabels()])


def _add_color_bar(figure: Figure, drawn: AxesImage, value_name: str) -> None:
    """Add a small color bar at the top right of the cells."""
    cells, (width, height) = drawn.axes.get_position(), figure.get_size_inches()
    share = max(min(cells.height * height, 1.5), 0.6) / height
    bar = figure.colorbar(drawn, cax=figure.add_axes((cells.x1 + 0.25 / width, cells.y1 - share, 0.12 / width, share)))
    bar.outline.set_visible(False)
    for gradient in bar.ax.collections:
        gradient.set_rasterized(True)  # 256 shapes otherwise
    bar.set_label(value_name, fontsize=9, color=TEXT_COLOR)
    bar.ax.tick_params(labelsize=8, length=2, color=MUTED_COLOR, labelcolor=TEXT_COLOR)


def _add_hover_texts(axes: Axes, heatmap: Heatmap) -> None:
    if heatmap.values.size > MAX_HOVER_CELLS:
        return
    smallest = MIN_HOVER_SHARE * (heatmap.max_value or float(heatmap.values.max()))
    for (row, column), value in np.ndenumerate(heatmap.values):
        if value >= smallest:
            text = f"{heatmap.rows[row]}, {heatmap.columns[column]}: {value:.2f}"
            add_hover_text(axes, column - 0.5, column + 0.5, row + 0.5, row - 0.5, text)
