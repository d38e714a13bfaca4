"""The head and cross-entropy together, some positions at a time: all logits are never held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from weft.model.roles import Head

IN_CACHE, IN_MEMORY = 512, 4096  # bytes of logits for each class that are held at a time, by a CPU and by a GPU


def positions(hidden: Tensor, chunk: int | None) -> int:
    """How many have their logits held at a time: a chunk, if it is said how large.

    Else as many as a CPU still has in its cache when they are read again; on a GPU so many that it is not kept waiting.
    """
    return chunk or (IN_CACHE if hidden.device.type == "cpu" else IN_MEMORY) // hidden.element_size()


def head_and_loss(
    hidden: Tensor, head: Head, targets: Tensor, smoothing: float, chunk: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """hidden [M,D], targets [M] -> the smoothed loss, the negative log-likelihood, and how many are guessed right."""
    apply = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], HeadAndLoss.apply)
    bias = head.weight.new_zeros(len(head.weight)) if head.bias is None else head.bias
    few = positions(hidden, chunk)
    return apply(hidden, head.weight, bias, targets, smoothing, few, torch.is_grad_enabled())


class HeadAndLoss(torch.autograd.Function):
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), summed over positions; its gradients are made on the way.

    With z = W h + b and n = log sum_v exp(z_v), -log p(v) = n - z_v. The sum of all z, which the smoothing asks for, is
    (sum of h) (sum of W's rows) + M (sum of b), with no logit in it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        chunk: int,
        wanted: bool,  # torch does not tell a function that gradients are off
    ) -> tuple[Tensor, Tensor, Tensor]:
        count, classes = len(hidden), len(weight)
        wide = torch.promote_types(hidden.dtype, torch.float32)
        sums = Sums(hidden.sum(0, dtype=wide), weight.sum(0, dtype=wide))
        gradients = Gradients.empty(hidden, weight, wide) if wanted else None
        norm, gold, top = torch.empty(3, count, dtype=wide, device=hidden.device)
        logits = hidden.new_empty(min(chunk, count), classes)  # made once: a fresh one for each chunk costs page faults
        probabilities = torch.empty_like(logits, dtype=wide)
        for first in range(0, count, chunk):
            rows = slice(first, min(first + chunk, count))
            used = slice(0, rows.stop - first)
            z = torch.addmm(bias, hidden[rows], weight.T, out=logits[used])
            p = torch.softmax(z, -1, dtype=wide, out=probabilities[used])
            gold[rows] = z.gather(1, targets[rows, None])[:, 0]
            top[rows] = z.amax(1)
            norm[rows] = top[rows] - p.amax(1).log()  # p of the likeliest is exp(its logit - n), and never near 0
            if gradients is not None:
                gradients.add(rows, p, z, hidden, weight, targets, smoothing)
        if gradients is not None:
            gradients.smooth(sums, smoothing)
            ctx.save_for_backward(*gradients)
            ctx.kind = hidden.dtype
        likelihood, right = (norm - gold).sum(), (gold == top).sum()
        every = (sums.hidden @ sums.weight + count * bias.sum(dtype=wide)) / classes
        ctx.mark_non_differentiable(likelihood, right)
        return (1 - smoothing) * likelihood + smoothing * (norm.sum() - every), likelihood, right

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (
            torch.mul(gradient, slopes[0], out=torch.empty_like(gradient, dtype=ctx.kind))
            for gradient in ctx.saved_tensors
        )
        return *scaled, None, None, None, None


class Sums(NamedTuple):
    """Over all positions, and over all classes [D]."""

    hidden: Tensor
    weight: Tensor


class Gradients(NamedTuple):
    """dloss/dz = p - (1 - e) onehot(y) - e / V, carried to what z is made of.

    The last term is constant: its share is added once, at the end, as a sum over rows or columns. Those of weight and
    bias are sums over all positions. In 16 bits a sum stands still when what is added has become small beside it, and
    in float16 it ends at 65,504: so they are of 32 bits, and rounded when they have been scaled.
    """

    hidden: Tensor
    weight: Tensor
    bias: Tensor

    @classmethod
    def empty(cls, hidden: Tensor, weight: Tensor, wide: torch.dtype) -> Gradients:
        bias = weight.new_zeros(len(weight), dtype=wide)
        return cls(torch.empty_like(hidden), torch.zeros_like(weight, dtype=wide), bias)

    def add(
        self, rows: slice, p: Tensor, z: Tensor, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float
    ) -> None:
        """The first two terms of these positions, whose probabilities p and logits z [rows,V] are used up."""
        right = targets[rows, None]
        p.scatter_add_(1, right, p.new_full(right.shape, smoothing - 1))
        self.bias.add_(p.sum(0))
        slope = p if p.dtype == z.dtype else z.copy_(p)
        torch.mm(slope, weight, out=self.hidden[rows])
        add_product(self.weight, slope.T, hidden[rows])

    def smooth(self, sums: Sums, smoothing: float) -> None:
        """The last term, of all positions."""
        constant = smoothing / len(self.weight)
        self.hidden.sub_(constant * sums.weight)
        self.weight.sub_(constant * sums.hidden)
        self.bias.sub_(constant * len(self.hidden))


def add_product(total: Tensor, one: Tensor, other: Tensor) -> None:
    """total += one other, where the total may have wider numbers than the two."""
    if total.dtype == one.dtype:
        total.addmm_(one, other)
    else:
        total.add_(one @ other)
