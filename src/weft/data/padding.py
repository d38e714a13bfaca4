"""Rows of different lengths in one tensor."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.marks import END, PAD
from weft.core.padded import Padded

Row: TypeAlias = NDArray[Any]  # ids without marks [T], or columns of a picture [T,height]
EMPTY = 0  # a pixel without ink


def pad(rows: Sequence[Row]) -> Padded:
    """Each row with its end, padded to the longest: ids end in END, a picture in an empty column.

    So a row has at least one position, whatever the line held.
    """
    return _pad_ids(rows) if rows[0].ndim == 1 else _pad_columns(rows)


def _pad_ids(rows: Sequence[Row]) -> Padded:
    lengths, places = _lengths_and_places(rows)
    data = np.full((len(rows), len(places)), PAD, np.int64)
    data[places < lengths[:, None]] = np.concatenate(rows)
    data[np.arange(len(rows)), lengths] = END
    return Padded(torch.from_numpy(data), torch.from_numpy(places <= lengths[:, None]))


def _pad_columns(rows: Sequence[Row]) -> Padded:
    lengths, places = _lengths_and_places(rows)
    data = np.full((len(rows), len(places), rows[0].shape[1]), EMPTY, np.uint8)
    for picture, row in zip(data, rows, strict=True):
        picture[: len(row)] = row
    return Padded(torch.from_numpy(data), torch.from_numpy(places <= lengths[:, None]))


def _lengths_and_places(rows: Sequence[Row]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[n], of each row; and [T], the numbers of the positions, one more than the longest row has."""
    lengths = np.array([len(row) for row in rows])
    return lengths, np.arange(lengths.max() + 1)
