"""Gate activations of a recurrent model while it reads a sentence and writes its translation.

draw_gates(weft.load("runs/first"), "A man sleeps.", "gates.png", side="decoder")
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.visualize.figures import check_figure_path, save_figure
from weft.visualize.heatmap import Heatmap, draw_heatmap
from weft.visualize.translation_trace import CellTrace, FloatArray, TracedExample, trace_cells

ModelSide = Literal["encoder", "decoder"]
GateRows = Literal["gates", "units"]
GATE_NAMES = ("input", "forget", "output", "reset", "update")  # as cells trace them


class GateActivations(NamedTuple):
    """A gate of a cell: values [T,D] from 0 (closed) to 1 (open), for each token that the cell reads."""

    module: str  # path of the cell, such as encoder.0.forward
    name: str
    labels: tuple[str, ...]
    values: FloatArray

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def draw_gates(
    translator: Translator,
    sentence: str,
    output: Path | str,
    *,
    side: ModelSide | None = None,
    module: str | None = None,
    rows: GateRows = "gates",
) -> list[GateActivations]:
    """Translate a sentence and save its gate activations as .png, .svg or .pdf; return the gates in the figure.

    side: default: the encoder, or the decoder if the encoder has no gates. module: a layer, a cell or a gate.
    rows: the mean of each gate over its units, or the units of a single gate.
    """
    check_figure_path(Path(output))
    with torch.inference_mode():
        example, cells = trace_cells(translator, sentence)
    gates = select_gates(_collect_gates(cells), side, module)
    if rows == "units" and len(gates) > 1:
        paths = ", ".join(gate.path for gate in gates)
        raise UserError(f"--units shows one gate: select it with --module, as one of {paths}")
    heatmap = unit_heatmap(example, gates[0]) if rows == "units" else mean_heatmap(example, gates)
    save_figure(partial(draw_heatmap, heatmap), Path(output))
    return gates


@torch.inference_mode()
def gate_activations(translator: Translator, sentence: str | Request) -> list[GateActivations]:
    """Translate a sentence and return every gate of the model: encoder first, lowest layer first."""
    _, cells = trace_cells(translator, sentence)
    return _collect_gates(cells)


def _collect_gates(cells: Sequence[CellTrace]) -> list[GateActivations]:
    gates = []
    for cell in cells:
        for name in [name for name in cell.tensors if name in GATE_NAMES]:
            values = torch.cat(cell.tensors[name]).double().cpu().numpy()
            gates.append(GateActivations(cell.module, name, cell.labels, cell.in_sentence_order(values)))
    if not gates:
        raise UserError("the cells of this model have no gates; use weft inspect gradients")
    return gates


def select_gates(gates: Sequence[GateActivations], side: ModelSide | None, module: str | None) -> list[GateActivations]:
    """Return the gates of a side and a module (a layer, a cell or a gate); by default the first side that has any."""
    required = [path for path in (side, module) if path is not None] or [gates[0].module.split(".")[0]]
    selected = [gate for gate in gates if all(f"{gate.path}.".startswith(f"{path}.") for path in required)]
    if not selected:
        modules = ", ".join(dict.fromkeys(gate.module for gate in gates))
        raise UserError(f"no gates at {' in '.join(reversed(required))}: this model has gates at {modules}")
    return selected


def mean_heatmap(example: TracedExample, gates: Sequence[GateActivations]) -> Heatmap:
    """One row per gate."""
    means = np.stack([gate.values.mean(1) for gate in gates])
    paths = tuple(gate.path for gate in gates)
    return Heatmap(example.title, example.remarks, paths, gates[0].labels, means, "activation, mean of units", 1.0)


def unit_heatmap(example: TracedExample, gate: GateActivations) -> Heatmap:
    """One row per unit of a gate, counted from 0."""
    units = tuple(f"unit {number}" for number in range(gate.values.shape[1]))
    return Heatmap(example.title, (gate.path, *example.remarks), units, gate.labels, gate.values.T, "activation", 1.0)
