"""What objectives are given in tests: the text of ids of the small vocabulary, and no other model."""

from collections.abc import Iterable, Sequence

import numpy as np

from laws.variants import VOCABULARY
from weft.core.codec import NUM_SPECIAL_TOKENS
from weft.losses.objective import ObjectiveContext, TokenCounts
from weft.models.model import Model


def decode(rows: Iterable[Sequence[int]]) -> list[str]:
    """The pieces without the marks, side by side; "▁" is a space."""
    texts = ("".join(VOCABULARY[token] for token in row if token >= NUM_SPECIAL_TOKENS) for row in rows)
    return [text.replace("▁", " ") for text in texts]


def nothing_to_load(folder: str) -> Model:
    raise FileNotFoundError(folder)


def counts() -> TokenCounts:
    """The first pieces are used most; PAD and BEGIN are never said."""
    return np.array([0, 0, 6, *range(len(VOCABULARY), NUM_SPECIAL_TOKENS, -1)])


GIVEN = ObjectiveContext(decode, nothing_to_load, counts, seed=5, has_attention=lambda: True)
