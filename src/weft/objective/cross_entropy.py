"""Cross-entropy with label smoothing, without ever holding all logits."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.types import Count, Make, Rate
from weft.data.batches import Batch
from weft.model.model import Model
from weft.model.roles import Head
from weft.objective.feeding import Feeding, Truth
from weft.objective.role import Given, Loss

CHUNK = 512  # positions whose logits are held at a time


class CrossEntropy(nn.Module):
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), e = smoothing spread over all V classes.

    Szegedy et al. 2016, section 7; torch's convention (e / V for each class, the right one included). Padding does not
    count. `parts`: the plain negative log-likelihood, whose mean is the logarithm of the perplexity, and 100 for each
    token guessed right, whose mean is the accuracy in percent. feeding: what the decoder is fed in training.
    """

    def __init__(
        self,
        given: Given,  # noqa: ARG002 (as all objectives)
        *,
        smoothing: Rate = 0.1,
        feeding: Make[Feeding] = Truth,
        chunk: Count = CHUNK,
    ):
        super().__init__()
        self.feeding = feeding()
        self.truth = Truth()
        self.smoothing = smoothing
        self.chunk = chunk

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = self.truth(model, batch, 0) if step is None else self.feeding(model, batch, step)
        return cross_entropy(model.head, outputs, batch.target, self.smoothing, self.chunk)


def cross_entropy(head: Head, outputs: Tensor, target: Padded, smoothing: float = 0.0, chunk: int = CHUNK) -> Loss:
    """The loss of a decoder's outputs [B,T,D] for a target [B,T], as CrossEntropy describes it."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total, likelihood, right = head_and_loss(hidden, head, targets, smoothing, chunk)
    count = torch.tensor(float(len(targets)), device=hidden.device)
    return Loss(total, count, {"nll": likelihood, "accuracy": 100 * right})


def head_and_loss(
    hidden: Tensor, head: Head, targets: Tensor, smoothing: float, chunk: int
) -> tuple[Tensor, Tensor, Tensor]:
    """hidden [M,D], targets [M] -> the smoothed loss, the negative log-likelihood, and how many are guessed right."""
    apply = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], ChunkedLoss.apply)
    return apply(hidden, head.weight, head.bias, targets, smoothing, chunk, torch.is_grad_enabled())


class ChunkedLoss(torch.autograd.Function):
    """Head and loss together, a few hundred rows at a time; the gradients are made in the forward pass.

    With z = W h + b and p = softmax(z): dloss/dz = p - (1 - e) onehot(y) - e / V. The last term is constant, so its
    share of each gradient is added as a sum over rows or columns and the [rows, V] matrix is passed over once less.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        chunk: int,
        wanted: bool,  # torch does not tell a function that gradients are off
    ) -> tuple[Tensor, Tensor, Tensor]:
        classes = len(weight)
        hidden_grad = torch.empty_like(hidden) if wanted else None
        weight_grad = torch.zeros_like(weight) if wanted else None
        bias_grad = weight.new_zeros(classes) if wanted else None
        total, likelihood, right = (hidden.new_zeros(()) for _ in range(3))
        for first in range(0, len(hidden), chunk):
            rows = slice(first, first + chunk)
            log_probs = torch.nn.functional.linear(hidden[rows], weight, bias).log_softmax(-1)  # [rows,V]
            gold = log_probs.gather(1, targets[rows, None])
            likelihood -= gold.sum()
            total -= (1 - smoothing) * gold.sum() + smoothing / classes * log_probs.sum()
            right += (log_probs.amax(1) == gold[:, 0]).sum()
            if hidden_grad is not None and weight_grad is not None and bias_grad is not None:
                slope = log_probs.exp_()  # p, from here on dloss/dz without the constant term
                slope.scatter_add_(1, targets[rows, None], torch.full_like(gold, smoothing - 1))
                torch.mm(slope, weight, out=hidden_grad[rows])
                weight_grad.addmm_(slope.T, hidden[rows])
                bias_grad += slope.sum(0)
        if hidden_grad is not None and weight_grad is not None and bias_grad is not None:
            constant = smoothing / classes
            hidden_grad -= constant * weight.sum(0)
            weight_grad -= constant * hidden.sum(0)
            bias_grad -= constant * len(hidden)
            ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)
        ctx.has_bias = bias is not None
        ctx.mark_non_differentiable(likelihood, right)
        return total, likelihood, right

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        hidden_grad, weight_grad, bias_grad = ctx.saved_tensors
        slope = slopes[0]
        bias_slope = bias_grad * slope if ctx.has_bias else None
        return hidden_grad * slope, weight_grad * slope, bias_slope, None, None, None, None
