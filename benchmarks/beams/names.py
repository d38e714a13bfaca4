"""The same weights under the names of another engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from benchmarks.beams.ours import Weights

Table: TypeAlias = Mapping[tuple[str, ...], tuple[str, ...]]  # what Weft calls parts -> what another calls them

KINDS = ("weight", "bias")


def moved(weights: Weights, table: Table, ours: str = "", theirs: str = "") -> Weights:
    """The parts of the table, each name after its prefix; where one side has a product and the other several, the rows
    are joined or parted.
    """
    return dict(_moved(weights, table, ours, theirs))


def stacked(weights: Weights, table: Table, layers: int, ours: str, theirs: str) -> Weights:
    """The same of every layer of a stack."""
    found: Weights = {}
    for number in range(layers):
        found |= moved(weights, table, f"{ours}.{number}.", f"{theirs}.{number}.")
    return found


def _moved(weights: Weights, table: Table, ours: str, theirs: str) -> Iterator[tuple[str, np.ndarray]]:
    for parts, names in table.items():
        for kind in KINDS:
            whole = np.concatenate([weights[f"{ours}{part}.{kind}"] for part in parts])
            for name, array in zip(names, np.split(whole, len(names)), strict=True):
                yield f"{theirs}{name}.{kind}", array
