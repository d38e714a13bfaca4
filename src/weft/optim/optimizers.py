"""Optimizers: SGD, Adadelta, Adam, AdamW, and lazy Adam for the sparse gradients of large vocabularies.

The schedule sets the learning rate at each step.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from weft.core.setting_types import PositiveFloat, Rate, UnitInterval

ROW_PREFIX = "rows."


class Optimizer(Protocol):
    """Called as Optimizer(parameters, ...)."""

    def step(self, learning_rate: float) -> None:
        """Update the weights, then clear the gradients."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, for a checkpoint."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None: ...


class TorchOptimizer:
    """A torch optimizer behind this interface."""

    def __init__(self, inner: torch.optim.Optimizer):
        self.inner = inner
        self.parameters: list[nn.Parameter] = inner.param_groups[0]["params"]

    def step(self, learning_rate: float) -> None:
        for parameter in self.parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()  # all rows move: those without a gradient by their moments
        self.inner.param_groups[0]["lr"] = learning_rate
        self.inner.step()
        self.inner.zero_grad()

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"{number}.{name}": moment
            for number, parameter in enumerate(self.parameters)
            for name, moment in self.inner.state.get(parameter, {}).items()
            if moment is not None  # as SGD stores a momentum of 0
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.inner.state.clear()
        for key, moment in tensors.items():
            number, name = key.split(".")
            self.inner.state[self.parameters[int(number)]][name] = moment.clone()


class SGD(TorchOptimizer):
    """v = momentum v + g, w -= lr v; without momentum as in Sutskever et al. 2014 and Luong et al. 2015."""

    def __init__(self, parameters: Iterable[nn.Parameter], *, momentum: Rate = 0.0, weight_decay: UnitInterval = 0.0):
        super().__init__(torch.optim.SGD(list(parameters), lr=0.0, momentum=momentum, weight_decay=weight_decay))


class Adadelta(TorchOptimizer):
    """w -= lr RMS(last changes) / RMS(gradients) g, running means over about 1 / (1 - rho) steps. Zeiler 2012.

    The papers that use it (Cho et al. 2014; Bahdanau et al. 2015) have a learning rate of 1: set the schedule to that.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, rho: Rate = 0.95, epsilon: PositiveFloat = 1e-6):
        super().__init__(torch.optim.Adadelta(list(parameters), lr=1.0, rho=rho, eps=epsilon))


class Adam(TorchOptimizer):
    """m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, w -= lr m^ / (sqrt(v^) + e). Kingma & Ba 2015, algorithm 1.

    weight_decay is added to the gradient (L2). The defaults of b2 and e are the Transformer's.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: PositiveFloat = 1e-9,
        weight_decay: UnitInterval = 0.0,
    ):
        betas = (beta1, beta2)
        super().__init__(
            torch.optim.Adam(list(parameters), lr=0.0, betas=betas, eps=epsilon, weight_decay=weight_decay, fused=True)
        )


class AdamW(TorchOptimizer):
    """Adam with w -= lr weight_decay w apart from the gradient's step. Loshchilov & Hutter 2019, algorithm 2."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: PositiveFloat = 1e-9,
        weight_decay: UnitInterval = 0.01,
    ):
        betas = (beta1, beta2)
        super().__init__(
            torch.optim.AdamW(list(parameters), lr=0.0, betas=betas, eps=epsilon, weight_decay=weight_decay, fused=True)
        )


class RowMoments(NamedTuple):
    """Of each row of a weight [V,D]: the number of updates [V,1], the running means of g and of g^2 [V,D]."""

    steps: Tensor
    mean: Tensor
    square: Tensor


class LazyAdam:
    """Adam in which each row of a sparse gradient counts only the updates that use it.

    Embeddings and heads with `sparse: true` have sparse gradients; every other weight is updated by Adam. An update
    then takes time proportional to the words it uses, not to the vocabulary.

    The difference: Adam keeps moving an unused row by its decaying moments. Here a row and its moments stay until it is
    used again. So a word that occurs once in a thousand updates is moved by about the learning rate each time, while
    Adam would move it several times as far. There is no weight decay, which would touch every row.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: PositiveFloat = 1e-9,
    ):
        self.parameters = list(parameters)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.dense = Adam(self.parameters, beta1=beta1, beta2=beta2, epsilon=epsilon)
        self.rows: dict[int, RowMoments] = {}  # by the number of the parameter

    def step(self, learning_rate: float) -> None:
        for number, parameter in enumerate(self.parameters):
            if parameter.grad is not None and parameter.grad.is_sparse:
                weight = parameter.detach()
                if number not in self.rows:
                    steps = weight.new_zeros(len(weight), 1)
                    self.rows[number] = RowMoments(steps, torch.zeros_like(weight), torch.zeros_like(weight))
                self._update_rows(weight, self.rows[number], parameter.grad.coalesce(), learning_rate)
                parameter.grad = None
        self.dense.step(learning_rate)

    def _update_rows(self, weight: Tensor, moments: RowMoments, gradient: Tensor, learning_rate: float) -> None:
        """Apply algorithm 1 of Kingma & Ba 2015 to the rows of a sparse gradient."""
        rows, slope = gradient.indices()[0], gradient.values()
        steps = moments.steps[rows] + 1
        mean = moments.mean[rows].lerp_(slope, 1 - self.beta1)
        square = moments.square[rows].lerp_(slope.square(), 1 - self.beta2)
        for all_rows, used in zip(moments, (steps, mean, square), strict=True):
            all_rows.index_copy_(0, rows, used)
        mean /= 1 - self.beta1**steps
        square /= 1 - self.beta2**steps
        weight.index_add_(0, rows, mean / (square.sqrt_() + self.epsilon), alpha=-learning_rate)

    def tensors(self) -> dict[str, Tensor]:
        rows = {
            f"{ROW_PREFIX}{number}.{name}": moment
            for number, moments in self.rows.items()
            for name, moment in moments._asdict().items()
        }
        return self.dense.tensors() | rows

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.dense.restore({key: moment for key, moment in tensors.items() if not key.startswith(ROW_PREFIX)})
        numbers = {int(key.split(".")[1]) for key in tensors if key.startswith(ROW_PREFIX)}
        self.rows = {
            number: RowMoments(*(tensors[f"{ROW_PREFIX}{number}.{name}"].clone() for name in RowMoments._fields))
            for number in numbers
        }
