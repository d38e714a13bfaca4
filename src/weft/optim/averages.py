"""Averages of weights over the last part of training, which are what is validated and kept."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from weft.core.types import Count, Rate

Weights = Mapping[str, Tensor]


class Average(Protocol):
    def update(self, step: int, weights: Weights) -> None:
        """The weights after this step."""
        ...

    def weights(self) -> Weights | None:
        """The average so far; None before there is one."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Everything it remembers, named."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Remember exactly this."""
        ...


class Exponential:
    """a = d a + (1 - d) w after each step, d = min(decay, (1 + s) / (10 + s)) so that early weights do not linger."""

    def __init__(self, *, decay: Rate = 0.999):
        self.decay = decay
        self.average: dict[str, Tensor] = {}

    def update(self, step: int, weights: Weights) -> None:
        if not self.average:
            self.average = {name: weight.detach().clone() for name, weight in weights.items()}
            return
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        averages = [self.average[name] for name in weights]  # what was restored may stand in another order
        torch._foreach_lerp_(averages, [weight.detach() for weight in weights.values()], share)

    def weights(self) -> Weights | None:
        return self.average or None

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.average)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.average = {name: tensor.clone() for name, tensor in tensors.items()}


class Last:
    """The mean of the last `count` snapshots, one every `every` steps. Vaswani et al. 2017, section 6.1."""

    def __init__(self, *, count: Count = 5, every: Count = 200):
        self.count, self.every = count, every
        self.snapshots: dict[int, dict[str, Tensor]] = {}  # by step, oldest first

    def update(self, step: int, weights: Weights) -> None:
        if step % self.every:
            return
        self.snapshots[step] = {name: weight.detach().clone() for name, weight in weights.items()}
        while len(self.snapshots) > self.count:  # by more than one, if a run that goes on has got another count
            del self.snapshots[min(self.snapshots)]

    def weights(self) -> Weights | None:
        if not self.snapshots:
            return None
        taken = list(self.snapshots.values())
        return {name: torch.stack([snapshot[name] for snapshot in taken]).mean(0) for name in taken[0]}

    def tensors(self) -> dict[str, Tensor]:
        return {f"{step}/{name}": weight for step, taken in self.snapshots.items() for name, weight in taken.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.snapshots = {}
        for key in sorted(tensors, key=lambda key: int(key.partition("/")[0])):
            step, _, name = key.partition("/")
            self.snapshots.setdefault(int(step), {})[name] = tensors[key].clone()
