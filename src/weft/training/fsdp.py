"""Fully sharded data parallel training with torch's fully_shard (Rajbhandari et al. 2020, ZeRO stage 3; Zhao et
al. 2023). Imported only when used: torch's part takes 40 MiB and half a second.
"""

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

from weft.checkpoints.trained_model import copy_weights, model_weights
from weft.core.errors import ConfigError, ConfigProblem
from weft.data.batches import Batch
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.models.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from weft.training.distributed import RankGroup
from weft.training.parallel_strategy import RUN_WEIGHTS, TrainingStrategy, make_broadcast_buffers

# Layers that are gathered one at a time, with the methods other than forward that use their weights.
FSDP_BLOCKS: dict[type[nn.Module], tuple[str, ...]] = {
    TransformerEncoderLayer: (),
    TransformerDecoderLayer: ("prepare",),
}


class FSDPStrategy(TrainingStrategy):
    """Weights, gradients and optimizer state are sharded over the ranks along their first axis.

    Layers in FSDP_BLOCKS are gathered for their computation only; other weights stay gathered from their first use to
    the end of the backward pass. Rank 0 keeps a full model on the CPU and moves it to its device to validate.
    dtype: what gathered layers compute with; shards, gradients and optimizer state are float32.
    """

    def __init__(self, ranks: RankGroup, model: Model, objective: Objective, dtype: torch.dtype):
        check_shardable(model)
        warnings.filterwarnings("ignore", "FSDP2-wrapped module")  # layers return views, which nobody modifies
        super().__init__(ranks, model, objective)
        self.full_model = deepcopy(model).cpu() if ranks.rank == 0 else model
        self.mesh = init_device_mesh(ranks.device.type, (ranks.world_size,))
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for block in [module for module in model.modules() if type(module) in FSDP_BLOCKS]:
            methods = FSDP_BLOCKS[type(block)]  # fully_shard changes the type
            fully_shard(block, mesh=self.mesh, mp_policy=policy)
            for name in methods:
                register_fsdp_forward_method(block, name)
        self.sharded = fully_shard(self.loss_module, mesh=self.mesh, mp_policy=policy)

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        self.sharded.set_requires_gradient_sync(last)
        return super().backward(batch, step, last=last, scale=scale)

    def gradient_norm(self, gradients: Sequence[Tensor]) -> float:
        return float(cast(DTensor, nn.utils.get_total_norm(gradients)).full_tensor())

    def gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Gather one tensor at a time, so that only rank 0 ever holds more than one."""
        gathered = (
            (name, tensor.full_tensor() if isinstance(tensor, DTensor) else tensor) for name, tensor in tensors.items()
        )
        return {name: tensor.cpu() for name, tensor in gathered if self.ranks.rank == 0}

    def distribute(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: self._shard(tensor) for name, tensor in make_broadcast_buffers(self.ranks, tensors).items()}

    def _shard(self, tensor: Tensor) -> Tensor:
        if tensor.dim() == 0:  # the step counter of an optimizer
            dist.broadcast(tensor, 0)
            return tensor
        return distribute_tensor(tensor, self.mesh, [Shard(0)])  # sends rank 0's values

    @contextmanager
    def evaluation_model(self, weights: Mapping[str, Tensor]) -> Iterator[Model]:
        copy_weights(self.full_model, weights, RUN_WEIGHTS)
        yield self.full_model.to(self.ranks.device)
        self.full_model.cpu()


def check_shardable(model: Model) -> None:
    """Raise ConfigError if the model has a saved tensor that cannot be sharded: a scalar or a buffer."""
    parameters = dict(model.named_parameters())
    for name, tensor in model_weights(model).items():
        if tensor.dim() == 0 or name not in parameters:
            text = f"fsdp cannot shard {name} of this model: write ddp"
            raise ConfigError([ConfigProblem("train.parallel", text)])
