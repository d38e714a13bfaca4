"""The interface of training objectives: the loss as sums that an update divides once, and the context that an
objective is built with.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from weft.data.batches import Batch
from weft.models.model import Model

TokenCounts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Loss:
    """total / count is the loss; parts are further sums over the same count, for display: nll, accuracy ..."""

    total: Tensor
    count: Tensor
    parts: dict[str, Tensor]


@dataclass(frozen=True)
class ObjectiveContext:
    """What an objective may need in addition to the model. seed: of the run, for draws that several updates share."""

    decode: Callable[[Iterable[Sequence[int]]], list[str]]  # target ids to lines
    load_model: Callable[[str], Model]  # a frozen model from a folder, with a decoder and the same vocabularies
    counts: Callable[[], TokenCounts]  # [V], the frequency of each target id in the training data, EOS included
    has_attention: Callable[[], bool]  # whether the trained decoder returns its attention to the source
    seed: int = 0


class Objective(Protocol):
    """Called as Objective(context, ...)."""

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        """Return the loss of a batch in the update numbered `step`; None: in validation, without any randomness."""
        ...
