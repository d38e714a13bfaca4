"""One update of the weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.data.batches import Batch
from weft.optim.optimisers import Optimiser
from weft.training.spread import Spread


@dataclass(frozen=True)
class Sums:
    """What an update saw: sums over `count` target tokens, and the gradient's norm before clipping."""

    loss: float
    count: float
    norm: float
    parts: dict[str, float]


def update(
    spread: Spread,
    optimiser: Optimiser,
    batches: Sequence[Batch],
    *,
    step: int,
    rate: float,
    clip: float | None,
) -> Sums:
    """Gradients of all batches are summed, divided once by their number of tokens on all ranks, clipped and applied.

    The optimiser forgets them when it has used them. Where they are too large for the numbers that the spread computes
    with, they are computed again at its next scale.
    """
    for scale in spread.scales:
        sums = gathered(spread, batches, step, scale)
        if math.isfinite(sums.norm) and math.isfinite(sums.loss):
            break
        spread.model.zero_grad()
    else:
        raise NotFiniteError
    clipped = 1.0 if clip is None else min(1.0, clip / (sums.norm + 1e-6))
    torch._foreach_mul_(gradients_of(spread), clipped / divisor(spread, sums.count, scale))
    optimiser.advance(rate)
    return sums


def gathered(spread: Spread, batches: Sequence[Batch], step: int, scale: float) -> Sums:
    """What the batches say on all ranks; the gradients of their sum, times the scale, are with the weights."""
    losses = [
        spread.backward(batch, step, last=number == len(batches), scale=scale)
        for number, batch in enumerate(batches, 1)
    ]
    total, count, *parts = spread.ranks.sums(
        [
            sum(loss.total.item() for loss in losses),
            sum(loss.count.item() for loss in losses),
            *(sum(loss.parts[name].item() for loss in losses) for name in losses[0].parts),
        ]
    )
    norm = spread.norm(gradients_of(spread)) / divisor(spread, count, scale)
    return Sums(total, count, norm, dict(zip(losses[0].parts, parts, strict=True)))


def divisor(spread: Spread, count: float, scale: float) -> float:
    """By which gradients become those of the mean over the tokens: a rank has the mean of the ranks' sums."""
    return scale * count / spread.ranks.size


def gradients_of(spread: Spread) -> list[Tensor]:
    return [numbers for one in spread.model.parameters() if (numbers := gradient_of(one)) is not None]


def gradient_of(parameter: nn.Parameter) -> Tensor | None:
    """The gradient, to be read and changed in place; of a sparse one the rows that it holds, each once."""
    if parameter.grad is None or not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


class NotFiniteError(Exception):
    """The loss or its gradient became infinite or not a number; the weights are as they were."""
