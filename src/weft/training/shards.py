"""A share of every weight on each rank, for models whose training does not fit on one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from weft.core.errors import ConfigError, Problem
from weft.data.batches import Batch
from weft.model.decoders import transformer as decoder
from weft.model.encoders import transformer as encoder
from weft.model.model import Model
from weft.objective.role import Loss, Objective
from weft.store.model_folder import fill, weights_of
from weft.training.outlines import outlines
from weft.training.ranks import Ranks
from weft.training.spread import HERE, UNSCALED, Learner

BLOCKS: dict[type[nn.Module], tuple[str, ...]] = {  # layers gathered one at a time, and their ways in beside forward
    encoder.Layer: (),
    decoder.Layer: ("prepare",),
}


class Shards:
    """By torch's fully_shard: weights, gradients and moments are parted along their first axis.

    Rajbhandari et al. 2020 (ZeRO, stage 3); Zhao et al. 2023. The layers in BLOCKS are gathered when they are entered
    and let go when they are left; what is in none of them stays gathered from its first use to the end of the backward
    pass. The first rank keeps a whole model on the CPU, and moves it to its device to validate. kind: of the numbers
    that a layer computes with once it is gathered; shares, gradients and moments are float32.
    """

    scales: tuple[float, ...] = UNSCALED

    def __init__(self, ranks: Ranks, model: Model, objective: Objective, kind: torch.dtype):
        check_axes(model)
        warnings.filterwarnings(
            "ignore", "FSDP2-wrapped module"
        )  # layers give out views, which nobody changes in place
        self.ranks, self.model = ranks, model
        self.shown = deepcopy(model).cpu() if ranks.number == 0 else model
        self.mesh = init_device_mesh(ranks.device.type, (ranks.size,))
        policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32)
        for block in [module for module in model.modules() if type(module) in BLOCKS]:
            ways = BLOCKS[type(block)]
            fully_shard(block, mesh=self.mesh, mp_policy=policy)
            for name in ways:
                register_fsdp_forward_method(block, name)
        self.learner = Learner(model, objective)
        self.sharded = fully_shard(self.learner, mesh=self.mesh, mp_policy=policy)

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        self.sharded.set_requires_gradient_sync(last)
        loss: Loss = self.learner(batch, step)
        torch.autograd.backward(loss.total * scale)
        return loss

    def norm(self, gradients: Sequence[Tensor]) -> float:
        return float(cast(DTensor, nn.utils.get_total_norm(gradients)).full_tensor())

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A tensor at a time, so that no rank but the first ever holds more than one."""
        gathered = ((name, gather(tensor)) for name, tensor in tensors.items())
        return {name: tensor.cpu() for name, tensor in gathered if self.ranks.number == 0}

    def share(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: self._part(tensor) for name, tensor in outlines(self.ranks, tensors).items()}

    def _part(self, tensor: Tensor) -> Tensor:
        if tensor.dim() == 0:  # the number of an optimiser's steps
            dist.broadcast(tensor, 0)
            return tensor
        return distribute_tensor(tensor, self.mesh, [Shard(0)])  # those of the first rank

    @contextmanager
    def showing(self, weights: Mapping[str, Tensor]) -> Iterator[Model]:
        fill(self.shown, weights, HERE)
        yield self.shown.to(self.ranks.device)
        self.shown.cpu()


def gather(tensor: Tensor) -> Tensor:
    """All of it, on every rank."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def check_axes(model: Model) -> None:
    """Can everything that the model keeps be parted?"""
    learned = dict(model.named_parameters())
    whole = [name for name, tensor in weights_of(model).items() if tensor.dim() == 0 or name not in learned]
    if whole:
        text = f"fsdp cannot part {whole[0]} of this model among the processes: write ddp"
        raise ConfigError([Problem("train.parallel", text)])
