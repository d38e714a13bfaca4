"""How much of a gradient goes back through time. Bengio, Simard & Frasconi 1994; Pascanu, Mikolov & Bengio 2013.

draw(weft.load("runs/first"), "A man sleeps.", "gradients.png")
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.control.request import Request
from weft.engine.translator import Translator
from weft.inspect.cells import CELL, HIDDEN, RECURRENCE, Followed, Steps, follow
from weft.inspect.grid import Numbers
from weft.inspect.lines import Line, Panel, draw_panels
from weft.inspect.picture import check_suffix, write_picture


class Flow(NamedTuple):
    """Of one cell, for every step t up to its last step T (which is at the first piece, if it reads backward):

    hidden: the largest singular value of dh_T/dh_t, which is how much longer a gradient at h_T can become, at most,
        on its way to h_t: by all ways through time, also through an attention that h_t asks, but c_t stays as it is
    cell: the same of dc_T/dc_t for an LSTM, where c_t acts through its h_t too
    bound: s^(T-t), s = the largest singular value of the recurrent matrix (of a gated cell: its gates' matrices upon
        each other). |tanh'| <= 1, so hidden <= bound for a plain cell that is not normalised and has no way through
        time but itself (Pascanu et al. 2013, section 2.1); for other cells it is there for comparison.
    """

    place: str
    labels: tuple[str, ...]
    hidden: Numbers  # [T], and so are the others
    cell: Numbers | None
    bound: Numbers
    factor: float  # s


def draw(translator: Translator, sentence: str, output: Path | str) -> list[Flow]:
    """Translate the sentence and write the picture (.png, .svg or .pdf); returns what it shows."""
    check_suffix(Path(output))
    followed = watched(translator, sentence)
    flows = [flow(steps) for steps in followed.cells]
    write_picture(partial(draw_panels, panels(flows), followed.fed.title, followed.fed.remarks), Path(output))
    return flows


def gradients(translator: Translator, sentence: str | Request) -> list[Flow]:
    """The flow through every cell while the sentence is translated: the encoder's first, the lowest first."""
    return [flow(steps) for steps in watched(translator, sentence).cells]


@torch.enable_grad()
def watched(translator: Translator, sentence: str | Request) -> Followed:
    return follow(translator, sentence)


def flow(steps: Steps) -> Flow:
    notes, count = steps.notes, len(steps.labels)
    factor = norm(torch.cat(notes[RECURRENCE][: len(notes[RECURRENCE]) // count]))  # what was noted in the first step
    with np.errstate(over="ignore"):  # a long way to infinity is no mistake
        bound = np.float64(factor) ** np.arange(count - 1, -1, -1)
    return Flow(
        steps.place,
        steps.labels,
        steps.in_sentence_order(norms(notes[HIDDEN])),
        steps.in_sentence_order(norms(notes[CELL])) if CELL in notes else None,
        steps.in_sentence_order(bound),
        factor,
    )


def norms(states: list[Tensor]) -> Numbers:
    """The largest singular value of d states[-1] / d states[t] for every t; a state is [1,D]."""
    last = states[-1]
    directions = torch.eye(last.shape[1], dtype=last.dtype, device=last.device)[:, None]  # [D,1,D]
    jacobians = torch.autograd.grad(last, states, directions, is_grads_batched=True, retain_graph=True)
    return np.array([norm(jacobian[:, 0]) for jacobian in jacobians])


def norm(matrix: Tensor) -> float:
    """The largest singular value."""
    return float(torch.linalg.matrix_norm(matrix.detach().double().cpu(), ord=2))


def panels(flows: list[Flow]) -> list[Panel]:
    """One for each side: its pieces are its horizontal axis."""
    sides = dict.fromkeys(flow.place.split(".")[0] for flow in flows)
    return [panel(side, [flow for flow in flows if flow.place.split(".")[0] == side]) for side in sides]


def panel(side: str, flows: list[Flow]) -> Panel:
    """The lines of each flow under its place, with the bounds to compare them with."""
    hidden = [Line(owner(flow), r"$\partial h_T / \partial h_t$", flow.hidden) for flow in flows]
    cell = [Line(owner(flow), r"$\partial c_T / \partial c_t$", flow.cell) for flow in flows if flow.cell is not None]
    bound = [Line(owner(flow), "$s^{T-t}$", flow.bound) for flow in flows]
    return Panel(side, flows[0].labels, [*hidden, *cell], bound)


def owner(flow: Flow) -> str:
    return f"{flow.place}, s = {flow.factor:.2f}"
