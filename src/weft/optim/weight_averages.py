"""Averages of the weights during training, used for validation and for the saved model."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from weft.core.setting_types import PositiveInt, Rate

NamedWeights = Mapping[str, Tensor]


class WeightAverage(Protocol):
    def update(self, step: int, weights: NamedWeights) -> None:
        """Take in the weights after this step."""
        ...

    def weights(self) -> NamedWeights | None:
        """Return the average so far, or None before there is one."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, for a checkpoint."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None: ...


class ExponentialAverage:
    """a = d a + (1 - d) w after each step, d = min(decay, (1 + s) / (10 + s)), so that early weights fade quickly."""

    def __init__(self, *, decay: Rate = 0.999):
        self.decay = decay
        self.average: dict[str, Tensor] = {}

    def update(self, step: int, weights: NamedWeights) -> None:
        if not self.average:
            self.average = {name: weight.detach().clone() for name, weight in weights.items()}
            return
        update = get_ema_multi_avg_fn(min(self.decay, (1 + step) / (10 + step)))  # type: ignore[no-untyped-call]
        averages = [self.average[name] for name in weights]  # restored ones may have another order
        update(averages, [weight.detach() for weight in weights.values()], step)

    def weights(self) -> NamedWeights | None:
        return self.average or None

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.average)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.average = {name: tensor.clone() for name, tensor in tensors.items()}


class SnapshotAverage:
    """The mean of the last `count` snapshots, one every `every` steps. Vaswani et al. 2017, section 6.1."""

    def __init__(self, *, count: PositiveInt = 5, every: PositiveInt = 200):
        self.count, self.every = count, every
        self.snapshots: dict[int, dict[str, Tensor]] = {}  # by step, oldest first

    def update(self, step: int, weights: NamedWeights) -> None:
        if step % self.every:
            return
        self.snapshots[step] = {name: weight.detach().clone() for name, weight in weights.items()}
        while len(self.snapshots) > self.count:  # by more than one, if a resumed run has another count
            del self.snapshots[min(self.snapshots)]

    def weights(self) -> NamedWeights | None:
        if not self.snapshots:
            return None
        snapshots = list(self.snapshots.values())
        return {name: torch.stack([snapshot[name] for snapshot in snapshots]).mean(0) for name in snapshots[0]}

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"{step}/{name}": weight for step, weights in self.snapshots.items() for name, weight in weights.items()
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.snapshots = {}
        for key in sorted(tensors, key=lambda key: int(key.partition("/")[0])):
            step, _, name = key.partition("/")
            self.snapshots.setdefault(int(step), {})[name] = tensors[key].clone()
