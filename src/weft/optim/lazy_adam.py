"""Adam that leaves alone what an update does not use: for embeddings and heads of large vocabularies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from weft.core.types import Positive, Rate
from weft.optim.optimisers import Adam

ROWS = "rows."


class RowMoments(NamedTuple):
    """Of each row of a weight [V,D]: in how many updates it was used [V,1], the means of g and of g^2 [V,D]."""

    steps: Tensor
    mean: Tensor
    square: Tensor

    @classmethod
    def before(cls, weight: Tensor) -> RowMoments:
        return cls(weight.new_zeros(len(weight), 1), torch.zeros_like(weight), torch.zeros_like(weight))


class LazyAdam:
    """Adam in which each row of a sparse gradient has a time of its own: its steps are the updates that used it.

    Sparse are the gradients of embeddings and heads that say `sparse: true`; every other weight is moved by Adam. An
    update then takes time in proportion to the words it uses, and not to the vocabulary.

    What changes: Adam goes on moving a row by its mean when the row is no longer used, and lets its means fade. Here a
    row stays, and its means with it, until it is used again. So a word that comes once in a thousand updates is moved
    by about the rate each time, while Adam would move it several times as far. There is no weight decay, which
    would touch every row.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: Positive = 1e-9,
    ):
        self.parameters = list(parameters)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.dense = Adam(self.parameters, beta1=beta1, beta2=beta2, epsilon=epsilon)
        self.rows: dict[int, RowMoments] = {}  # by the number of the parameter

    def advance(self, rate: float) -> None:
        for number, parameter in enumerate(self.parameters):
            if parameter.grad is not None and parameter.grad.is_sparse:
                if number not in self.rows:
                    self.rows[number] = RowMoments.before(parameter.detach())
                self._advance_rows(parameter.detach(), self.rows[number], parameter.grad.coalesce(), rate)
                parameter.grad = None
        self.dense.advance(rate)

    def _advance_rows(self, weight: Tensor, moments: RowMoments, gradient: Tensor, rate: float) -> None:
        """Algorithm 1 of Kingma & Ba 2015 for the rows that the gradient holds."""
        rows, slope = gradient.indices()[0], gradient.values()
        steps = moments.steps[rows] + 1
        mean = moments.mean[rows].lerp_(slope, 1 - self.beta1)
        square = moments.square[rows].lerp_(slope.square(), 1 - self.beta2)
        for all_rows, used in zip(moments, (steps, mean, square), strict=True):
            all_rows.index_copy_(0, rows, used)
        mean /= 1 - self.beta1**steps
        square /= 1 - self.beta2**steps
        weight.index_add_(0, rows, mean / (square.sqrt_() + self.epsilon), alpha=-rate)

    def tensors(self) -> dict[str, Tensor]:
        rows = {
            f"{ROWS}{number}.{name}": moment
            for number, moments in self.rows.items()
            for name, moment in moments._asdict().items()
        }
        return self.dense.tensors() | rows

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.dense.restore({key: moment for key, moment in tensors.items() if not key.startswith(ROWS)})
        numbers = {int(key.split(".")[1]) for key in tensors if key.startswith(ROWS)}
        self.rows = {
            number: RowMoments(*(tensors[f"{ROWS}{number}.{name}"].clone() for name in RowMoments._fields))
            for number in numbers
        }
