"""Training strategies: a single process, and DistributedDataParallel (Li et al. 2020).

FSDP is in fsdp.py, mixed precision in mixed_precision.py.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from weft.checkpoints.trained_model import copy_weights, model_weights
from weft.data.batches import Batch
from weft.losses.objective import Loss, Objective
from weft.models.model import Model, trainable_parameters
from weft.training.distributed import RankGroup

RUN_WEIGHTS = Path("the weights of this run")  # names the weights in error messages
DTYPES_BY_NAME = {
    str(dtype): dtype
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool)
}


class LossModule(nn.Module):
    """Model and objective as one module, as torch's wrappers need it."""

    def __init__(self, model: Model, objective: Objective):
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(self, batch: Batch, step: int) -> Loss:
        loss = self.objective(self.model, batch, step)
        weight = batch.weight
        return Loss(loss.total * weight, loss.count * weight, {name: n * weight for name, n in loss.parts.items()})


class TrainingStrategy:
    """How weights are placed on the ranks; this class is for a single process.

    Tensors (weights, optimizer state, averages) are passed by name. All ranks call each method together.
    loss_scales: factors of the loss; train_step tries the next one if the gradients are not finite.
    """

    loss_scales: tuple[float, ...] = (1.0,)

    def __init__(self, ranks: RankGroup, model: Model, objective: Objective):
        self.ranks, self.model = ranks, model
        self.loss_module = LossModule(model, objective)

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:  # noqa: ARG002
        """Add the gradients of scale * loss of this rank's part of the batch, and return the loss.

        last: whether this is the last batch of the update; then gradients become means over the ranks.
        """
        loss: Loss = self.loss_module(batch, step)
        torch.autograd.backward(loss.total * scale)
        return loss

    def gradient_norm(self, gradients: Sequence[Tensor]) -> float:
        """Return the norm of the gradients of all weights, on all ranks."""
        return float(nn.utils.get_total_norm(gradients))

    def gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the full tensors on rank 0; the result of other ranks must not be used."""
        return dict(tensors)

    def distribute(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Distribute rank 0's full tensors according to this strategy."""
        return {name: tensor.to(self.ranks.device) for name, tensor in tensors.items()}

    @contextmanager
    def evaluation_model(self, weights: Mapping[str, Tensor]) -> Iterator[Model]:
        """Provide a model with these full weights, on rank 0 only."""
        current = {name: weight.clone() for name, weight in model_weights(self.model).items()}
        copy_weights(self.model, weights, RUN_WEIGHTS)
        yield self.model
        copy_weights(self.model, current, RUN_WEIGHTS)


class DDPStrategy(TrainingStrategy):
    """A copy of the model on each rank, by torch's DistributedDataParallel (Li et al. 2020).

    DDP must know whether some weights never get a gradient. The first batch tells, so the wrapper is made then.
    """

    def __init__(self, ranks: RankGroup, model: Model, objective: Objective):
        super().__init__(ranks, model, objective)
        self.wrapped: DistributedDataParallel | None = None

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        if self.wrapped is None:
            unused = has_unused_parameters(self.loss_module, batch, step, self.ranks.device)
            self.wrapped = wrap_ddp(self.loss_module, find_unused=any(self.ranks.all_reduce([unused])))
        with nullcontext() if last else self.wrapped.no_sync():  # the forward pass must be inside, too
            loss: Loss = self.wrapped(batch, step)
            torch.autograd.backward(loss.total * scale)
        return loss

    def distribute(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        buffers = make_broadcast_buffers(self.ranks, tensors)
        for tensor in buffers.values():
            dist.broadcast(tensor, 0)
        return buffers


def has_unused_parameters(loss_module: LossModule, batch: Batch, step: int, device: torch.device) -> bool:
    """Return whether the loss does not depend on some trainable weights; the random state is preserved."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        loss = loss_module(batch, step).total
        weights = [*trainable_parameters(loss_module.model).values()]
        return None in torch.autograd.grad(loss, weights, allow_unused=True)


def wrap_ddp(loss_module: LossModule, *, find_unused: bool) -> DistributedDataParallel:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`broadcast_buffers`", FutureWarning)  # older torch lacks the new name
        return DistributedDataParallel(
            loss_module, broadcast_buffers=False, find_unused_parameters=find_unused, gradient_as_bucket_view=True
        )


def make_broadcast_buffers(ranks: RankGroup, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return rank 0's tensors on rank 0, and empty tensors of the same names, shapes and types on the others."""
    layout = ranks.on_main(lambda: {name: (str(tensor.dtype), tensor.shape) for name, tensor in tensors.items()})
    if ranks.rank == 0:
        return {name: tensor.to(ranks.device).contiguous() for name, tensor in tensors.items()}
    return {
        name: torch.empty(shape, dtype=DTYPES_BY_NAME[dtype], device=ranks.device)
        for name, (dtype, shape) in layout.items()
    }
