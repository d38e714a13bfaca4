"""Plot of the measured times on logarithmic axes, with the published orders as dotted lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.layer_complexity.layer_kinds import Kind
from benchmarks.layer_complexity.tables import Medians
from benchmarks.layer_complexity.timing import Size
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from weft.visualize.figures import GRID_COLOR, MUTED_COLOR, TEXT_COLOR

INCHES, DOTS = (9.6, 4.3), 125.0
MARGIN = 1.5  # margin factor above and below all lines
STYLES = (
    ("#0072b2", "o"),
    ("#56b4e9", "s"),
    ("#d55e00", "^"),
    ("#e69f00", "v"),
    ("#009e73", "D"),
)  # color and marker of each kind


class Panel(NamedTuple):
    """Times over length or width, with the other fixed."""

    title: str
    axis: str
    numbers: Sequence[int]
    size: Callable[[int], Size]  # at this number


def panels_of(sizes: Sequence[Size]) -> list[Panel]:
    """Over n for narrow and for wide layers, and over d for long sequences."""
    lengths, widths = (sorted(set(numbers)) for numbers in zip(*sizes, strict=True))
    narrow, wide, long = widths[0], widths[-1], lengths[-1]
    return [
        Panel(f"narrow: d = {narrow}", "length n", lengths, lambda length: Size(length, narrow)),
        Panel(f"wide: d = {wide}", "length n", lengths, lambda length: Size(length, wide)),
        Panel(f"long: n = {long}", "width d", widths, lambda width: Size(long, width)),
    ]


def draw(kinds: Sequence[Kind], found: Medians, what: str) -> Figure:
    """Draw all panels; `what` describes the timed pass."""
    figure = Figure(figsize=INCHES, dpi=DOTS, layout="constrained")
    panels = panels_of(list(found[kinds[0].name]))
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True), panels, strict=True):
        for kind, style in zip(kinds, STYLES, strict=True):
            draw_kind(axes, panel, kind, found[kind.name], style)
        name_axes(axes, panel)
    measured = [1000 * seconds for sizes in found.values() for seconds in sizes.values()]
    figure.axes[0].set_ylim(min(measured) / MARGIN, max(measured) * MARGIN)  # published orders may exceed it
    figure.axes[0].set_ylabel(f"milliseconds, {what}", color=TEXT_COLOR)
    figure.align_xlabels()
    figure.legend(handles=legend(kinds), loc="outside lower center", ncols=3, frameon=False, labelcolor=TEXT_COLOR)
    return figure


def draw_kind(axes: Axes, panel: Panel, kind: Kind, seconds: Mapping[Size, float], style: tuple[str, str]) -> None:
    """Plot the times of a kind, and its published order through the last point."""
    color, marker = style
    sizes = [panel.size(number) for number in panel.numbers]
    times = [1000 * seconds[size] for size in sizes]
    orders = [size.length**kind.powers.length * size.width**kind.powers.width for size in sizes]
    published = [times[-1] * order / orders[-1] for order in orders]
    axes.plot(panel.numbers, times, color=color, marker=marker, markersize=4, linewidth=1.5)
    axes.plot(panel.numbers, published, color=color, linestyle=":", linewidth=1.1)


def name_axes(axes: Axes, panel: Panel) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(panel.numbers, [str(number) for number in panel.numbers], rotation=45, fontsize=8.5)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(color=MUTED_COLOR, labelcolor=TEXT_COLOR, which="both", length=2)
    axes.set_title(panel.title, fontsize=10.5, color=TEXT_COLOR)
    axes.set_xlabel(panel.axis, color=TEXT_COLOR)
    axes.grid(color=GRID_COLOR, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED_COLOR)


def legend(kinds: Sequence[Kind]) -> list[Line2D]:
    measured = [
        Line2D([], [], color=color, marker=marker, markersize=4, linewidth=1.5, label=f"{kind.name}: {kind.order}")
        for kind, (color, marker) in zip(kinds, STYLES, strict=True)
    ]
    return [*measured, Line2D([], [], color=TEXT_COLOR, linestyle=":", linewidth=1.1, label="the published order")]
