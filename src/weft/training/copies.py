"""A copy of the model on each rank."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from weft.data.batches import Batch
from weft.model.freezing import learning
from weft.model.model import Model
from weft.objective.role import Loss, Objective
from weft.training.outlines import outlines
from weft.training.ranks import Ranks
from weft.training.spread import UNSCALED, Learner, Whole


class Copies:
    """By torch's DistributedDataParallel: gradients are summed over the ranks while the backward pass goes on.

    Li et al. 2020, "PyTorch Distributed". It must be told whether some weights never get a gradient, which the first
    batch shows; so it is made then, on all ranks in the same way.
    """

    scales: tuple[float, ...] = UNSCALED

    def __init__(self, ranks: Ranks, model: Model, objective: Objective):
        self.ranks, self.model, self.one = ranks, model, Whole(ranks, model, objective)
        self.learner = Learner(model, objective)
        self.wrapped: DistributedDataParallel | None = None

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        if self.wrapped is None:
            idle = some_are_idle(self.learner, batch, step, self.ranks.device)
            self.wrapped = wrap(self.learner, any(self.ranks.sums([idle])))
        with nullcontext() if last else self.wrapped.no_sync():  # around the forward pass too, which decides
            loss: Loss = self.wrapped(batch, step)
            torch.autograd.backward(loss.total * scale)
        return loss

    def norm(self, gradients: Sequence[Tensor]) -> float:
        return self.one.norm(gradients)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.one.whole(tensors)

    def share(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        shared = outlines(self.ranks, tensors)
        for tensor in shared.values():
            dist.broadcast(tensor, 0)
        return shared

    def showing(self, weights: Mapping[str, Tensor]) -> AbstractContextManager[Model]:
        return self.one.showing(weights)


def some_are_idle(learner: Learner, batch: Batch, step: int, device: torch.device) -> bool:
    """Are there weights on which the loss does not depend? Random draws afterwards are as if nobody had asked."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        loss = learner(batch, step).total
        return None in torch.autograd.grad(loss, [*learning(learner.model).values()], allow_unused=True)


def wrap(learner: Learner, idle: bool) -> DistributedDataParallel:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`broadcast_buffers`", FutureWarning)  # its new name is too new
        return DistributedDataParallel(
            learner, broadcast_buffers=False, find_unused_parameters=idle, gradient_as_bucket_view=True
        )
