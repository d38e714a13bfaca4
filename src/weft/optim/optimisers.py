"""How gradients move weights. The rate is set anew at each step, from the schedule."""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Positive, Rate, Share

MOMENTS = ("exp_avg", "exp_avg_sq", "step")


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
    """What Adam and AdamW share: torch's fused kernels behind the names above."""

    def __init__(self, inner: torch.optim.Adam | torch.optim.AdamW):
        self.inner = inner
        self.parameters: list[nn.Parameter] = inner.param_groups[0]["params"]

    def advance(self, rate: float) -> None:
        self.inner.param_groups[0]["lr"] = rate
        self.inner.step()
        self.inner.zero_grad()

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"{number}.{name}": self.inner.state[parameter][name]
            for number, parameter in enumerate(self.parameters)
            if parameter in self.inner.state
            for name in MOMENTS
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for number, parameter in enumerate(self.parameters):
            if f"{number}.step" in tensors:
                self.inner.state[parameter] = {name: tensors[f"{number}.{name}"].clone() for name in MOMENTS}


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
