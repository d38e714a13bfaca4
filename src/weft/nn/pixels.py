"""Columns of pictures to vectors."""

import torch
from torch import Tensor, nn

from weft.core.types import Vocabulary

BRIGHTEST = 255


class Pixels(nn.Module):
    """x = column / 255: a vector has a number for each row of the picture, 0 for paper and 1 for ink.

    The vocabulary of pictures is their rows. There is nothing to learn here: an encoder that sees the neighbours of
    each pixel follows, such as `picture`.
    """

    limit: int | None = None
    weight: nn.Parameter | None = None

    unit: Tensor

    def __init__(self, vocabulary: Vocabulary):
        super().__init__()
        self.dim = len(vocabulary)
        self.register_buffer("unit", torch.tensor(1 / BRIGHTEST), persistent=False)

    def forward(self, columns: Tensor, first: Tensor) -> Tensor:  # noqa: ARG002 (as all embeddings)
        """columns [N,T,H] -> [N,T,H]."""
        return columns * self.unit
