"""What is minimised, as sums: the update divides once, by the count over all its batches."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from weft.data.batches import Batch
from weft.model.model import Model


@dataclass(frozen=True)
class Loss:
    """total / count is the loss; parts are further sums over the same count, to show: nll, accuracy ..."""

    total: Tensor
    count: Tensor
    parts: dict[str, Tensor]


class Objective(Protocol):
    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        """The loss of a batch, in the update numbered `step`; None: in validation, where all is as plain as can be."""
        ...
