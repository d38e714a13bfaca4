"""Gradient flow through time in recurrent cells: the largest singular value of dh_T/dh_t (Bengio, Simard & Frasconi
1994; Pascanu, Mikolov & Bengio 2013).

    draw_gradients(weft.load("runs/first"), "A man sleeps.", "gradients.png")
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.visualize.figures import (
    GRID_COLOR,
    MUTED_COLOR,
    TEXT_COLOR,
    TITLE_FONT_SIZE,
    check_figure_path,
    color_labels,
    format_title,
    max_label_width,
    resolution,
    save_figure,
    shorten_label,
)
from weft.visualize.translation_trace import CELL_STATE, HIDDEN_STATE, RECURRENCE, CellTrace, FloatArray, trace_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOKEN_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 0.42, 3.4, 3.4  # inches
TOKEN_FONT_SIZE = 9.5  # points
AXIS_MARGIN = 0.05  # powers of ten
MAX_BOUND_RATIO = 1e3  # bounds farther from the norms leave the panel; otherwise the norms would all look equal
HIDDEN, CELL, BOUND = r"$\partial h_T / \partial h_t$", r"$\partial c_T / \partial c_t$", "$s^{T-t}$"


class GradientFlow(NamedTuple):
    """Gradient norms [T] of a cell for each step t up to its last step T (the first token, for a backward cell).

    hidden: the largest singular value of dh_T/dh_t: the factor by which a gradient at h_T can grow, at most, on its
        way to h_t, along all paths through time (including attention that depends on h_t), with c_t held constant.
    cell: the same for dc_T/dc_t of an LSTM, where c_t also acts through h_t.
    bound: s^(T-t), where s is the largest singular value of the recurrent matrix (for gated cells: of the stacked
        matrices of all gates). Since |tanh'| <= 1, hidden <= bound for an Elman cell without normalization and without
        other paths through time (Pascanu et al. 2013, section 2.1); for other cells it is a reference.
    """

    module: str
    labels: tuple[str, ...]
    hidden: FloatArray
    cell: FloatArray | None
    bound: FloatArray
    factor: float  # s


def draw_gradients(translator: Translator, sentence: str, output: Path | str) -> list[GradientFlow]:
    """Translate a sentence and save the gradient flow through each cell as .png, .svg or .pdf."""
    check_figure_path(Path(output))
    with torch.enable_grad():
        example, cells = trace_cells(translator, sentence)
    flows = [cell_gradient_flow(cell) for cell in cells]
    save_figure(partial(draw_gradient_flows, flows, example.title, example.remarks), Path(output))
    return flows


@torch.enable_grad()
def gradient_flows(translator: Translator, sentence: str | Request) -> list[GradientFlow]:
    """Translate a sentence and return the flow through every cell: encoder first, lowest layer first."""
    _, cells = trace_cells(translator, sentence)
    return [cell_gradient_flow(cell) for cell in cells]


def cell_gradient_flow(cell: CellTrace) -> GradientFlow:
    tensors, steps = cell.tensors, len(cell.labels)
    matrices = tensors[RECURRENCE]  # traced again in every step: the first step has them all
    factor = _spectral_norm(torch.cat(matrices[: len(matrices) // steps]))
    with np.errstate(over="ignore"):  # the bound may become infinite
        bound = np.float64(factor) ** np.arange(steps - 1, -1, -1)
    return GradientFlow(
        cell.module,
        cell.labels,
        cell.in_sentence_order(_jacobian_norms(tensors[HIDDEN_STATE])),
        cell.in_sentence_order(_jacobian_norms(tensors[CELL_STATE])) if CELL_STATE in tensors else None,
        cell.in_sentence_order(bound),
        factor,
    )


def _jacobian_norms(states: list[Tensor]) -> FloatArray:
    """Return the largest singular value of d states[-1] / d states[t] for every t; a state is [1,D]."""
    last = states[-1]
    directions = torch.eye(last.shape[1], dtype=last.dtype, device=last.device)[:, None]  # [D,1,D]
    jacobians = torch.autograd.grad(last, states, directions, is_grads_batched=True, retain_graph=True)
    return np.array([_spectral_norm(jacobian[:, 0]) for jacobian in jacobians])


def _spectral_norm(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix.detach().double().cpu(), ord=2))


def draw_gradient_flows(flows: Sequence[GradientFlow], title: Sequence[str], remarks: Sequence[str]) -> Figure:
    """Draw a panel for each side of the model, with a logarithmic axis."""
    from matplotlib.figure import Figure

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
    from matplotlib import colormaps

    colors = colormaps["viridis"](np.linspace(0, 0.8, len(flows)))  # the upper end is too light for white paper
    for flow, color in zip(flows, colors, strict=True):
        axes.plot([], [], color=color, linewidth=3, label=f"{flow.module}, s = {flow.factor:.2f}")
        axes.plot(flow.hidden, ".-", color=color, linewidth=1.3)
        if flow.cell is not None:
            axes.plot(flow.cell, ".--", color=color, linewidth=1.3)
        axes.plot(flow.bound, ":", color=color, linewidth=1.0)
    has_cell_state = any(flow.cell is not None for flow in flows)
    for style, label in (("-", HIDDEN), *([("--", CELL)] if has_cell_state else []), (":", BOUND)):
        axes.plot([], [], style, color=TEXT_COLOR, linewidth=1.3, label=label)
    axes.set_yscale("log")
    axes.set_ylim(*axis_limits(flows))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5)


def axis_limits(flows: Sequence[GradientFlow]) -> tuple[float, float]:
    """Return the powers of ten around all norms, and around the bounds that are near them."""
    norms = np.concatenate([norms for flow in flows for norms in (flow.hidden, flow.cell) if norms is not None])
    norms = norms[norms > 0]  # a norm may underflow to 0
    bounds = np.concatenate([flow.bound for flow in flows])
    near = bounds[(bounds > norms.min() / MAX_BOUND_RATIO) & (bounds < norms.max() * MAX_BOUND_RATIO)]
    powers = np.log10(np.concatenate([norms, near]))
    return 10 ** np.floor(powers.min() - AXIS_MARGIN), 10 ** np.ceil(powers.max() + AXIS_MARGIN)


def _label_axes(axes: Axes, side: str, tokens: Sequence[str]) -> None:
    angle, aligned = (45, "right") if max_label_width(tokens, TOKEN_FONT_SIZE) > 0.9 * TOKEN_WIDTH else (0, "center")
    labels = [shorten_label(token) for token in tokens]
    axes.set_xticks(range(len(tokens)), labels, rotation=angle, rotation_mode="anchor", ha=aligned)
    axes.set_xlim(-0.5, len(tokens) - 0.5)
    axes.tick_params(labelsize=TOKEN_FONT_SIZE, color=MUTED_COLOR, labelcolor=TEXT_COLOR, which="both", length=2)
    color_labels(axes.get_xticklabels())
    axes.set_xlabel(f"input of the {side} at step t", fontsize=9, color=TEXT_COLOR)
    axes.set_ylabel("largest singular value", fontsize=9, color=TEXT_COLOR)
    axes.grid(axis="y", color=GRID_COLOR, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED_COLOR)
