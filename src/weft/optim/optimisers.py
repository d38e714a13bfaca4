"""How gradients move weights. The rate is set anew at each step, from the schedule."""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Positive, Rate, Share


class Optimiser(Protocol):
    """Made as Optimiser(parameters, ...)."""

    def advance(self, rate: float) -> None:
        """One step with this learning rate, then forget the gradients."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Everything it remembers, named."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Remember exactly this."""
        ...


class Moments:
    """What they share: torch's own optimisers behind the names above, each with its running means of a weight."""

    def __init__(self, inner: torch.optim.Optimizer):
        self.inner = inner
        self.parameters: list[nn.Parameter] = inner.param_groups[0]["params"]

    def advance(self, rate: float) -> None:
        for parameter in self.parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()  # all rows move: those without a gradient by their means
        self.inner.param_groups[0]["lr"] = rate
        self.inner.step()
        self.inner.zero_grad()

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"{number}.{name}": moment
            for number, parameter in enumerate(self.parameters)
            for name, moment in self.inner.state.get(parameter, {}).items()
            if moment is not None  # as a momentum of 0 is kept
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.inner.state.clear()
        for key, moment in tensors.items():
            number, name = key.split(".")
            self.inner.state[self.parameters[int(number)]][name] = moment.clone()


class SGD(Moments):
    """v = momentum v + g, w -= rate v; without momentum, the descent of Sutskever et al. 2014 and Luong et al. 2015."""

    def __init__(self, parameters: Iterable[nn.Parameter], *, momentum: Rate = 0.0, decay: Share = 0.0):
        super().__init__(torch.optim.SGD(list(parameters), lr=0.0, momentum=momentum, weight_decay=decay))


class Adadelta(Moments):
    """w -= rate RMS(last changes) / RMS(gradients) g, both running means over about 1 / (1 - rho) steps. Zeiler 2012.

    The rate is 1 in the papers that use it (Cho et al. 2014; Bahdanau et al. 2015): give a schedule that says so.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, rho: Rate = 0.95, epsilon: Positive = 1e-6):
        super().__init__(torch.optim.Adadelta(list(parameters), lr=1.0, rho=rho, eps=epsilon))


class Adam(Moments):
    """m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, w -= rate m^ / (sqrt(v^) + e). Kingma & Ba 2015, algorithm 1.

    `decay` is added to the gradient (L2). The defaults of b2 and e are the Transformer's.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: Positive = 1e-9,
        decay: Share = 0.0,
    ):
        betas = (beta1, beta2)
        super().__init__(
            torch.optim.Adam(list(parameters), lr=0.0, betas=betas, eps=epsilon, weight_decay=decay, fused=True)
        )


class AdamW(Moments):
    """Adam with w -= rate decay w beside the gradient's step, not inside it. Loshchilov & Hutter 2019, algorithm 2."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        beta1: Rate = 0.9,
        beta2: Rate = 0.98,
        epsilon: Positive = 1e-9,
        decay: Share = 0.01,
    ):
        betas = (beta1, beta2)
        super().__init__(
            torch.optim.AdamW(list(parameters), lr=0.0, betas=betas, eps=epsilon, weight_decay=decay, fused=True)
        )
