"""One update of the weights."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.role import Objective
from weft.optim.optimisers import Optimiser


@dataclass(frozen=True)
class Sums:
    """What an update saw: sums over `count` target tokens, and the gradient's norm before clipping."""

    loss: float
    count: float
    norm: float
    parts: dict[str, float]


def update(
    model: Model,
    objective: Objective,
    optimiser: Optimiser,
    batches: Sequence[Batch],
    *,
    step: int,
    rate: float,
    clip: float | None,
) -> Sums:
    """Gradients of all batches are summed, divided once by their number of tokens, clipped and applied.

    The optimiser forgets them when it has used them.
    """
    total = count = 0.0
    parts: Counter[str] = Counter()
    for batch in batches:
        loss = objective(model, batch, step)
        torch.autograd.backward(loss.total)
        total, count = total + loss.total.item(), count + loss.count.item()
        parts.update({name: part.item() for name, part in loss.parts.items()})
    gradients = [numbers for parameter in model.parameters() if (numbers := gradient_of(parameter)) is not None]
    norm = float(nn.utils.get_total_norm(gradients)) / count
    if not math.isfinite(norm) or not math.isfinite(total):
        raise NotFiniteError
    torch._foreach_mul_(gradients, (1.0 if clip is None else min(1.0, clip / (norm + 1e-6))) / count)
    optimiser.advance(rate)
    return Sums(total, count, norm, dict(parts))


def gradient_of(parameter: nn.Parameter) -> Tensor | None:
    """The gradient, to be read and changed in place; of a sparse one the rows that it holds, each once."""
    if parameter.grad is None or not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


class NotFiniteError(Exception):
    """The loss or its gradient became infinite or not a number; the weights are as they were."""
