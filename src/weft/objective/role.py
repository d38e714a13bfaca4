"""What is minimised, as sums: the update divides once, by the count over all its batches."""

from collections.abc import Callable, Iterable, Sequence
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


@dataclass(frozen=True)
class Given:
    """What an objective may need that is not in the model: text, and other models."""

    decode: Callable[[Iterable[Sequence[int]]], list[str]]  # target ids to lines
    load: Callable[[str], Model]  # the trained model in a folder; it must have the same vocabularies


class Objective(Protocol):
    """Made as Objective(given, ...)."""

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        """The loss of a batch, in the update numbered `step`; None: in validation, where all is as plain as can be."""
        ...
