"""How far the gates of a recurrent model are open while it reads and writes a sentence.

draw(weft.load("runs/first"), "A man sleeps.", "gates.png", side="decoder")
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.inspect.cells import Followed, Steps, follow
from weft.inspect.grid import Grid, Numbers
from weft.inspect.picture import check_suffix, write_picture
from weft.inspect.squares import draw_squares
from weft.inspect.translating import Fed

Side = Literal["encoder", "decoder"]
Rows = Literal["gates", "units"]
GATES = ("input", "forget", "output", "reset", "update")  # as cells note them


class Gate(NamedTuple):
    """One gate of one cell: values [T,D] between 0 (closed) and 1 (open), a row for each piece that was read."""

    place: str  # of the cell, as encoder.0.forward
    name: str  # as forget
    labels: tuple[str, ...]
    values: Numbers

    @property
    def path(self) -> str:
        return f"{self.place}.{self.name}"

    def inside(self, where: str) -> bool:
        """Is `where` its side, its layer, its cell or itself?"""
        return f"{self.path}.".startswith(f"{where}.")


def draw(
    translator: Translator,
    sentence: str,
    output: Path | str,
    *,
    side: Side | None = None,
    place: str | None = None,
    rows: Rows = "gates",
) -> list[Gate]:
    """Translate the sentence and write the picture (.png, .svg or .pdf); returns the gates that it shows.

    side: if not given, the encoder's, or the decoder's where the encoder has no gates. place: those of a layer or a
    cell, or one gate. rows: each gate's mean over its units, or the units of one gate.
    """
    check_suffix(Path(output))
    followed = watched(translator, sentence)
    chosen = choose(gates_of(followed), side, place)
    if rows == "units" and len(chosen) > 1:
        raise UserError(f"--units shows one gate: name it with --place, as one of {listed(g.path for g in chosen)}")
    show = units_grid if rows == "units" else means_grid
    write_picture(partial(draw_squares, show(followed.fed, chosen)), Path(output))
    return chosen


def gates(translator: Translator, sentence: str | Request) -> list[Gate]:
    """Every gate of the model while it translates the sentence: the encoder's first, the lowest first."""
    return gates_of(watched(translator, sentence))


@torch.inference_mode()
def watched(translator: Translator, sentence: str | Request) -> Followed:
    return follow(translator, sentence)


def gates_of(followed: Followed) -> list[Gate]:
    found = [gate(steps, name) for steps in followed.cells for name in steps.notes if name in GATES]
    if not found:
        raise UserError(
            "the cells of this model are plain and have no gates; weft inspect gradients shows what goes through them"
        )
    return found


def gate(steps: Steps, name: str) -> Gate:
    values = torch.cat(steps.notes[name]).double().cpu().numpy()
    return Gate(steps.place, name, steps.labels, steps.in_sentence_order(values))


def choose(every: Sequence[Gate], side: Side | None, place: str | None) -> list[Gate]:
    """Those of a side and a place; of the first side that has any, if neither is named."""
    named = [where for where in (side, place) if where is not None] or [every[0].place.split(".")[0]]
    chosen = [gate for gate in every if all(gate.inside(where) for where in named)]
    if not chosen:
        places = listed(dict.fromkeys(gate.place for gate in every))
        raise UserError(f"there are no gates at {' in '.join(reversed(named))}: this model has some at {places}")
    return chosen


def listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def means_grid(fed: Fed, chosen: Sequence[Gate]) -> Grid:
    """A row for each gate."""
    values = np.stack([gate.values.mean(1) for gate in chosen])
    names = tuple(gate.path for gate in chosen)
    scale = "open, mean of the units"
    return Grid(fed.title, fed.remarks, names, chosen[0].labels, values, scale, darkest=1.0)


def units_grid(fed: Fed, chosen: Sequence[Gate]) -> Grid:
    """A row for each unit of the one gate; units are counted from 0, as in `values`."""
    [only] = chosen
    names = tuple(f"unit {number}" for number in range(only.values.shape[1]))
    remarks = (only.path, *fed.remarks)
    return Grid(fed.title, remarks, names, only.labels, only.values.T, "open", darkest=1.0)
