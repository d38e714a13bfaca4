"""The picture of numbers that go over many powers of ten: lines on a logarithmic axis, a panel for each side."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from weft.inspect.grid import Numbers
from weft.inspect.lettering import FAINT, INK, LINES, TITLE_SIZE, colour_names, short, title_of, widest

PIECE, HEIGHT, BESIDE = 0.42, 3.4, 3.4  # inches: the width of a piece, the height of a panel, what is beside it
FONT = 9.5  # points
MARGIN = 0.05  # powers of ten
SURPLUS = 1e3  # guides may reach so far beyond the lines, or the lines could not be told from each other
Dash: TypeAlias = Literal["-", "--", ":"]
DASHES: tuple[Dash, ...] = ("-", "--")  # of the kinds of lines; guides are dotted


class Line(NamedTuple):
    """values [T]; lines of one owner have one colour, lines of one kind are dashed alike."""

    owner: str
    kind: str
    values: Numbers


class Panel(NamedTuple):
    """Lines over the same pieces; guides are lines for comparison, which may leave the panel."""

    side: str
    labels: tuple[str, ...]
    lines: list[Line]
    guides: list[Line]


def draw_panels(panels: Sequence[Panel], title: Sequence[str], remarks: Sequence[str]) -> Figure:
    """The whole picture."""
    width = max(5.0, PIECE * max(len(panel.labels) for panel in panels))
    height = HEIGHT * len(panels)
    whole = Figure(figsize=(width + BESIDE, height), dpi=min(200.0, 8000 / max(width, height)), layout="constrained")
    for axes, panel in zip(whole.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw_panel(axes, panel)
        name_pieces(axes, panel)
    heading = whole.suptitle(title_of(title, remarks, width), x=0.01, ha="left", fontsize=TITLE_SIZE, color=INK)
    heading.set(parse_math=False, linespacing=1.4)
    return whole


def draw_panel(axes: Axes, panel: Panel) -> None:
    colours, dashes = colours_of(panel), dashes_of(panel)
    for line in panel.lines:
        axes.plot(line.values, color=colours[line.owner], linestyle=dashes[line.kind], marker=".", linewidth=1.3)
    for line in panel.guides:
        axes.plot(line.values, color=colours[line.owner], linestyle=dashes[line.kind], linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(*limits(panel))
    owners = [Line2D([], [], color=colour, linewidth=3, label=owner) for owner, colour in colours.items()]
    kinds = [Line2D([], [], color=INK, linestyle=dash, linewidth=1.3, label=kind) for kind, dash in dashes.items()]
    axes.legend(handles=owners + kinds, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5)


def colours_of(panel: Panel) -> dict[str, str]:
    """A colour for each owner, from dark to light."""
    owners = list(dict.fromkeys(line.owner for line in panel.lines))
    colours = colormaps["viridis"](np.linspace(0, 0.8, len(owners)))  # what follows is too light for white paper
    return dict(zip(owners, map(to_hex, colours), strict=True))


def dashes_of(panel: Panel) -> dict[str, Dash]:
    kinds = dict.fromkeys(line.kind for line in panel.lines)
    return {**dict(zip(kinds, DASHES, strict=False)), **{line.kind: ":" for line in panel.guides}}


def limits(panel: Panel) -> tuple[float, float]:
    """Powers of ten around all of the lines, and around the guides as far as they are near."""
    lines, guides = (np.concatenate([one.values for one in group]) for group in (panel.lines, panel.guides))
    seen = lines[lines > 0]  # what is smaller than any number can be is zero, and has no place here
    near = guides[(guides > seen.min() / SURPLUS) & (guides < seen.max() * SURPLUS)]
    powers = np.log10(np.concatenate([seen, near]))
    return 10 ** np.floor(powers.min() - MARGIN), 10 ** np.ceil(powers.max() + MARGIN)


def name_pieces(axes: Axes, panel: Panel) -> None:
    """The pieces below, and what the axes are."""
    turned = widest(panel.labels, FONT) > 0.9 * PIECE
    axes.set_xticks(range(len(panel.labels)), [short(name) for name in panel.labels])
    axes.set_xlim(-0.5, len(panel.labels) - 0.5)
    axes.tick_params(labelsize=FONT, color=FAINT, labelcolor=INK, which="both", length=2)
    for label in axes.get_xticklabels():
        label.set(rotation=45 if turned else 0, rotation_mode="anchor")
        label.set_horizontalalignment("right" if turned else "center")
    colour_names(axes.get_xticklabels())
    axes.set_xlabel(f"what the {panel.side} reads at step t", fontsize=9, color=INK)
    axes.set_ylabel("largest singular value", fontsize=9, color=INK)
    axes.grid(axis="y", color=LINES, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
