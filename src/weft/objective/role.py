"""What is minimised, as sums: the update divides once, by the count over all its batches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from weft.data.batches import Batch
from weft.model.model import Model

Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Loss:
    """total / count is the loss; parts are further sums over the same count, to show: nll, accuracy ..."""

    total: Tensor
    count: Tensor
    parts: dict[str, Tensor]


def uncounted() -> Counts:
    raise ValueError("got no counts of the target tokens, which this objective draws its classes by")


def unasked() -> bool:
    raise ValueError("got no answer to whether the decoder tells where it looks, which this objective is about")


@dataclass(frozen=True)
class Given:
    """What an objective may need that is not in the model: text, other models, and how often each token is used."""

    decode: Callable[[Iterable[Sequence[int]]], list[str]]  # target ids to lines
    load: Callable[[str], Model]  # the trained model in a folder, frozen; it must have the same vocabularies, and steps
    counts: Callable[[], Counts] = uncounted  # [V], how often each target id stands in the training data, END included
    seed: int = 0  # of the run, for draws that several updates share
    looks: Callable[[], bool] = unasked  # does the decoder that is trained tell where each step looks?


class Objective(Protocol):
    """Made as Objective(given, ...)."""

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        """The loss of a batch, in the update numbered `step`; None: in validation, where all is as plain as can be."""
        ...
