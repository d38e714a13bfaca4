"""How the weights of a model lie over the ranks that train it: whole on one, a copy on each, or a share on each.

The loop and the update know what stands in `Spread`, and read the same for all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.role import Loss, Objective
from weft.store.model_folder import fill, weights_of
from weft.training.ranks import Ranks

HERE = Path("the weights of this run")
UNSCALED = (1.0,)


class Spread(Protocol):
    """Tensors go by name: weights, their moments, their averages. All ranks call `whole` and `share` together.

    scales: what an update multiplies the loss by before it asks for gradients; the next where they are not finite.
    """

    model: Model
    ranks: Ranks
    scales: tuple[float, ...]

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        """The loss of this rank's part of a batch; its gradients, times the scale, are added to those that there are.

        last: of an update. Then the gradients become the means over the ranks of what each has gathered.
        """
        ...

    def norm(self, gradients: Sequence[Tensor]) -> float:
        """The norm of the gradients of all weights."""
        ...

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors as one rank alone would have them, on the first; what the others get is not for use."""
        ...

    def share(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Whole tensors, of which the first rank's count, as this spread has them."""
        ...

    def showing(self, weights: Mapping[str, Tensor]) -> AbstractContextManager[Model]:
        """On the first rank alone: a model with these whole weights, which can do all that one process can."""
        ...


class Learner(nn.Module):
    """Model and objective as one module with one way in, which torch's wrappers can watch."""

    def __init__(self, model: Model, objective: Objective):
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(self, batch: Batch, step: int) -> Loss:
        loss = self.objective(self.model, batch, step)
        weight = batch.weight
        return Loss(loss.total * weight, loss.count * weight, {name: n * weight for name, n in loss.parts.items()})


class Whole:
    """All on one rank."""

    scales: tuple[float, ...] = UNSCALED

    def __init__(self, ranks: Ranks, model: Model, objective: Objective):
        self.ranks, self.model = ranks, model
        self.learner: Callable[[Batch, int], Loss] = Learner(model, objective)

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:  # noqa: ARG002 (as all)
        loss = self.learner(batch, step)
        torch.autograd.backward(loss.total * scale)
        return loss

    def norm(self, gradients: Sequence[Tensor]) -> float:
        return float(nn.utils.get_total_norm(gradients))

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return dict(tensors)

    def share(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensor.to(self.ranks.device) for name, tensor in tensors.items()}

    @contextmanager
    def showing(self, weights: Mapping[str, Tensor]) -> Iterator[Model]:
        own = {name: weight.clone() for name, weight in weights_of(self.model).items()}
        fill(self.model, weights, HERE)
        yield self.model
        fill(self.model, own, HERE)
