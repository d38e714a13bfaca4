"""Codecs turn the lines of one side of a corpus into rows of positions: token ids or image columns.

Tokenizers and the image codec implement the `Codec` interface.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.special_tokens import Vocabulary

Modality = Literal["text", "image"]  # what a line contains or refers to
MAX_IMAGES_PER_CHUNK = 64  # images in memory at once: one may be as large as thousands of lines


class RaggedRows(NamedTuple):
    """Rows of different lengths in one array: ids [T], or image columns [T,height]; lengths [n]."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]

    def select(self, rows: NDArray[np.bool_]) -> RaggedRows:
        """Return the rows for which `rows` [n] is True."""
        return RaggedRows(self.values[np.repeat(rows, self.lengths)], self.lengths[rows])

    def split(self) -> list[NDArray[Any]]:
        """Return each row as an array of its own."""
        return np.split(self.values, np.cumsum(self.lengths))[:-1]


class Codec(Protocol):
    """A tokenizer, or the image codec, which can only be a source.

    shape: that of one position, () for ids, (height,) for image columns. size: the number of ids, or of gray levels.
    fingerprint: equal for codecs that encode alike. file_suffix: of the file that `save` writes.
    """

    @property
    def modality(self) -> Modality: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def file_suffix(self) -> str: ...

    def encode_rows(self, lines: Iterable[str]) -> RaggedRows:
        """Return a row of positions for each line, without special tokens; raise LineError if one cannot be read."""
        ...

    def vocabulary(self) -> Vocabulary:
        """Return the display text of each id, or a name for each row of pixels."""
        ...

    def to_json(self) -> str: ...

    def save(self, path: Path | str) -> None: ...


class LineError(UserError):
    """A line cannot be encoded; `row` is its index, from 0, among the lines of the call."""

    def __init__(self, row: int, text: str):
        super().__init__(text)
        self.row = row


def codec_chunk_size(codec: Codec, max_lines: int) -> int:
    """Return how many lines to encode in one call: `max_lines`, but only a few if they are images."""
    return max_lines if codec.modality == "text" else min(max_lines, MAX_IMAGES_PER_CHUNK)
