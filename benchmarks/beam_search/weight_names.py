"""Conversion of Weft's weights to the parameter names of another engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from benchmarks.beam_search.weft_model import Weights

Table: TypeAlias = Mapping[tuple[str, ...], tuple[str, ...]]  # Weft's names -> names of the engine

KINDS = ("weight", "bias")


def rename_weights(weights: Weights, table: Table, ours: str = "", theirs: str = "") -> Weights:
    """Rename the weights of the table, with prefixes; concatenate or split rows where one side fuses projections."""
    return dict(_renamed(weights, table, ours, theirs))


def rename_layers(weights: Weights, table: Table, layers: int, ours: str, theirs: str) -> Weights:
    """Rename the weights of every layer of a stack."""
    found: Weights = {}
    for number in range(layers):
        found |= rename_weights(weights, table, f"{ours}.{number}.", f"{theirs}.{number}.")
    return found


def _renamed(weights: Weights, table: Table, ours: str, theirs: str) -> Iterator[tuple[str, np.ndarray]]:
    for parts, names in table.items():
        for kind in KINDS:
            whole = np.concatenate([weights[f"{ours}{part}.{kind}"] for part in parts])
            for name, array in zip(names, np.split(whole, len(names)), strict=True):
                yield f"{theirs}{name}.{kind}", array
