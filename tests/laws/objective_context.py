"""The ObjectiveContext of the tests: it decodes ids of the small vocabulary and has no other model to load."""

from collections.abc import Iterable, Sequence

import numpy as np

from laws.variants import VOCABULARY
from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.losses.objective import ObjectiveContext, TokenCounts
from weft.models.model import Model


def decode(rows: Iterable[Sequence[int]]) -> list[str]:
    """Join the tokens without special tokens; "▁" is a space."""
    texts = ("".join(VOCABULARY[token] for token in row if token >= NUM_SPECIAL_TOKENS) for row in rows)
    return [text.replace("▁", " ") for text in texts]


def load_no_model(folder: str) -> Model:
    raise FileNotFoundError(folder)


def counts() -> TokenCounts:
    """Return token counts: the first tokens are the most frequent; PAD and BOS do not occur."""
    return np.array([0, 0, 6, *range(len(VOCABULARY), NUM_SPECIAL_TOKENS, -1)])


OBJECTIVE_CONTEXT = ObjectiveContext(decode, load_no_model, counts, seed=5, has_attention=lambda: True)
