"""The figure of gradient flows: a panel for each side of the model, with a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from weft.visualize.figures import (
    GRID_COLOR,
    MUTED_COLOR,
    TEXT_COLOR,
    TITLE_FONT_SIZE,
    color_labels,
    format_title,
    max_label_width,
    resolution,
    shorten_label,
)
from weft.visualize.gradient_flow import GradientFlow

TOKEN_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 0.42, 3.4, 3.4  # inches
TOKEN_FONT_SIZE = 9.5  # points
AXIS_MARGIN = 0.05  # powers of ten
MAX_BOUND_RATIO = 1e3  # bounds farther from the norms leave the panel; otherwise the norms would all look equal
HIDDEN, CELL, BOUND = r"$\partial h_T / \partial h_t$", r"$\partial c_T / \partial c_t$", "$s^{T-t}$"


def draw_gradient_flows(flows: Sequence[GradientFlow], title: Sequence[str], remarks: Sequence[str]) -> Figure:
    sides = list(dict.fromkeys(flow.module.split(".")[0] for flow in flows))
    width, height = max(5.0, TOKEN_WIDTH * max(len(flow.labels) for flow in flows)), PANEL_HEIGHT * len(sides)
    figure = Figure(figsize=(width + LEGEND_WIDTH, height), dpi=resolution(width, height), layout="constrained")
    for axes, side in zip(figure.subplots(len(sides), squeeze=False)[:, 0], sides, strict=True):
        shown = [flow for flow in flows if flow.module.split(".")[0] == side]
        _draw_panel(axes, shown)
        _label_axes(axes, side, shown[0].labels)
    heading = figure.suptitle(format_title(title, remarks, width), x=0.01, ha="left", fontsize=TITLE_FONT_SIZE)
    heading.set(color=TEXT_COLOR, parse_math=False, linespacing=1.4)
    return figure


def _draw_panel(axes: Axes, flows: Sequence[GradientFlow]) -> None:
    """Draw a color per cell: solid lines for hidden states, dashed for cell states, dotted for bounds."""
    colors = colormaps["viridis"](np.linspace(0, 0.8, len(flows)))  # the upper end is too light for white paper
    for flow, color in zip(flows, colors, strict=True):
        axes.plot(flow.hidden, color=color, linestyle="-", marker=".", linewidth=1.3)
        if flow.cell is not None:
            axes.plot(flow.cell, color=color, linestyle="--", marker=".", linewidth=1.3)
        axes.plot(flow.bound, color=color, linestyle=":", linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(*axis_limits(flows))
    handles = [
        Line2D([], [], color=color, linewidth=3, label=f"{flow.module}, s = {flow.factor:.2f}")
        for flow, color in zip(flows, colors, strict=True)
    ]
    handles.append(Line2D([], [], color=TEXT_COLOR, linestyle="-", linewidth=1.3, label=HIDDEN))
    if any(flow.cell is not None for flow in flows):
        handles.append(Line2D([], [], color=TEXT_COLOR, linestyle="--", linewidth=1.3, label=CELL))
    handles.append(Line2D([], [], color=TEXT_COLOR, linestyle=":", linewidth=1.3, label=BOUND))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5)


def axis_limits(flows: Sequence[GradientFlow]) -> tuple[float, float]:
    """Return the powers of ten around all norms, and around the bounds that are near them."""
    norms = np.concatenate([norms for flow in flows for norms in (flow.hidden, flow.cell) if norms is not None])
    norms = norms[norms > 0]  # a norm may underflow to 0
    bounds = np.concatenate([flow.bound for flow in flows])
    near = bounds[(bounds > norms.min() / MAX_BOUND_RATIO) & (bounds < norms.max() * MAX_BOUND_RATIO)]
    powers = np.log10(np.concatenate([norms, near]))
    return 10 ** np.floor(powers.min() - AXIS_MARGIN), 10 ** np.ceil(powers.max() + AXIS_MARGIN)


def _label_axes(axes: Axes, side: str, tokens: Sequence[str]) -> None:
    is_rotated = max_label_width(tokens, TOKEN_FONT_SIZE) > 0.9 * TOKEN_WIDTH
    axes.set_xticks(range(len(tokens)), [shorten_label(token) for token in tokens])
    axes.set_xlim(-0.5, len(tokens) - 0.5)
    axes.tick_params(labelsize=TOKEN_FONT_SIZE, color=MUTED_COLOR, labelcolor=TEXT_COLOR, which="both", length=2)
    for label in axes.get_xticklabels():
        label.set(rotation=45 if is_rotated else 0, rotation_mode="anchor")
        label.set_horizontalalignment("right" if is_rotated else "center")
    color_labels(axes.get_xticklabels())
    axes.set_xlabel(f"input of the {side} at step t", fontsize=9, color=TEXT_COLOR)
    axes.set_ylabel("largest singular value", fontsize=9, color=TEXT_COLOR)
    axes.grid(axis="y", color=GRID_COLOR, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED_COLOR)
