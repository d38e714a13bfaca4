"""Gradient flow through time in recurrent cells: the largest singular value of dh_T/dh_t (Bengio, Simard & Frasconi
1994; Pascanu, Mikolov & Bengio 2013).

    draw_gradients(weft.load("runs/first"), "A man sleeps.", "gradients.png")
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.visualize.figures import check_figure_path, save_figure
from weft.visualize.translation_trace import (
    CELL_STATE,
    HIDDEN_STATE,
    RECURRENCE,
    CellTrace,
    FloatArray,
    RecurrentTrace,
    trace_cells,
)


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
    trace = _trace_with_gradients(translator, sentence)
    flows = [cell_gradient_flow(cell) for cell in trace.cells]

    from weft.visualize.gradient_figure import draw_gradient_flows

    save_figure(partial(draw_gradient_flows, flows, trace.example.title, trace.example.remarks), Path(output))
    return flows


def gradient_flows(translator: Translator, sentence: str | Request) -> list[GradientFlow]:
    """Translate a sentence and return the flow through every cell: encoder first, lowest layer first."""
    return [cell_gradient_flow(cell) for cell in _trace_with_gradients(translator, sentence).cells]


@torch.enable_grad()
def _trace_with_gradients(translator: Translator, sentence: str | Request) -> RecurrentTrace:
    return trace_cells(translator, sentence)


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
