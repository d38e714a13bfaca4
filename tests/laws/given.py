"""What objectives are given in tests: the text of ids of the small vocabulary, and no other model."""

from collections.abc import Iterable, Sequence

import numpy as np

from laws.variants import VOCABULARY
from weft.core.marks import FIRST_PIECE
from weft.model.model import Model
from weft.objective.role import Counts, Given


def decode(rows: Iterable[Sequence[int]]) -> list[str]:
    """The pieces without the marks, side by side; "▁" is a space."""
    texts = ("".join(VOCABULARY[token] for token in row if token >= FIRST_PIECE) for row in rows)
    return [text.replace("▁", " ") for text in texts]


def nothing_to_load(folder: str) -> Model:
    raise FileNotFoundError(folder)


def counts() -> Counts:
    """The first pieces are used most; PAD and BEGIN are never said."""
    return np.array([0, 0, 6, *range(len(VOCABULARY), FIRST_PIECE, -1)])


GIVEN = Given(decode, nothing_to_load, counts, seed=5, looks=lambda: True)
