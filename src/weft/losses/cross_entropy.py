"""Cross-entropy with label smoothing (Szegedy et al. 2016, section 7), and token log-probabilities of a linear head,
both computed in chunks of positions, so that the logits of all positions are never in memory at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.data.batches import Batch
from weft.losses.objective import Loss, ObjectiveContext
from weft.losses.scheduled_sampling import DecoderInputPolicy, TeacherForcing
from weft.models.interfaces import Head
from weft.models.model import Model

CPU_CHUNK_BYTES, GPU_CHUNK_BYTES = 512, 4096  # bytes of logits per class


class CrossEntropyLoss:
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), e = label_smoothing, spread over all V classes.

    torch's convention: e / V for each class, the correct one included. Padding does not count. `parts`: the plain
    negative log-likelihood, whose mean is the logarithm of the perplexity, and 100 for each correct token, whose mean
    is the accuracy in percent. decoder_input: the tokens that the decoder reads in training. chunk_size: the number of
    positions whose logits are in memory at a time (null: chosen for the device).
    """

    def __init__(
        self,
        context: ObjectiveContext,  # noqa: ARG002 (interface)
        *,
        label_smoothing: Rate = 0.1,
        decoder_input: Factory[DecoderInputPolicy] = TeacherForcing,
        chunk_size: PositiveInt | None = None,
    ):
        self.decoder_input = decoder_input()
        self.label_smoothing = label_smoothing
        self.chunk_size = chunk_size

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden if step is None else self.decoder_input(model, batch, step)
        return cross_entropy(model.head, outputs, batch.target, self.label_smoothing, self.chunk_size)


def cross_entropy(
    head: Head, outputs: Tensor, target: Padded, label_smoothing: float = 0.0, chunk_size: int | None = None
) -> Loss:
    """Return the loss of decoder outputs [B,T,D] for a target [B,T], as CrossEntropyLoss defines it."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total, nll, correct = chunked_cross_entropy(hidden, head, targets, label_smoothing, chunk_size)
    count = torch.tensor(float(len(targets)), device=hidden.device)
    return Loss(total, count, {"nll": nll, "accuracy": 100 * correct})


def chunk_length(hidden: Tensor, chunk_size: int | None) -> int:
    """Return `chunk_size`, or by default what stays in a CPU's cache, or what keeps a GPU busy."""
    return chunk_size or (CPU_CHUNK_BYTES if hidden.device.type == "cpu" else GPU_CHUNK_BYTES) // hidden.element_size()


def chunked_cross_entropy(
    hidden: Tensor, head: Head, targets: Tensor, label_smoothing: float, chunk_size: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """hidden [M,D], targets [M] -> smoothed loss, negative log-likelihood, number of correct predictions."""
    apply = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], ChunkedCrossEntropy.apply)
    bias = head.weight.new_zeros(len(head.weight)) if head.bias is None else head.bias
    length = chunk_length(hidden, chunk_size)
    return apply(hidden, head.weight, bias, targets, label_smoothing, length, torch.is_grad_enabled())


class ChunkedCrossEntropy(torch.autograd.Function):
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), summed over positions; forward also computes the gradients.

    With z = W h + b and n = log sum_v exp(z_v), -log p(v) = n - z_v. The sum of all z, which label smoothing needs, is
    (sum of h) (sum of W's rows) + M (sum of b), without any logit.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        label_smoothing: float,
        chunk_length: int,
        needs_gradients: bool,  # torch does not tell a function that gradients are off
    ) -> tuple[Tensor, Tensor, Tensor]:
        count, classes = len(hidden), len(weight)
        wide = torch.promote_types(hidden.dtype, torch.float32)
        hidden_sum, weight_sum = hidden.sum(0, dtype=wide), weight.sum(0, dtype=wide)  # [D]
        gradients = HeadGradients.zeros(hidden, weight, wide) if needs_gradients else None
        norm, gold, top = torch.empty(3, count, dtype=wide, device=hidden.device)
        logits = hidden.new_empty(min(chunk_length, count), classes)  # reused: new ones would cost page faults
        probabilities = torch.empty_like(logits, dtype=wide)
        for first in range(0, count, chunk_length):
            rows = slice(first, min(first + chunk_length, count))
            used = slice(0, rows.stop - first)
            z = torch.addmm(bias, hidden[rows], weight.T, out=logits[used])
            p = torch.softmax(z, -1, dtype=wide, out=probabilities[used])
            gold[rows] = z.gather(1, targets[rows, None])[:, 0]
            top[rows] = z.amax(1)
            norm[rows] = top[rows] - p.amax(1).log()  # the largest p is exp(its logit - n), and never near 0
            if gradients is not None:
                gradients.add(rows, p, z, hidden, weight, targets, label_smoothing)
        if gradients is not None:
            gradients.smooth(hidden_sum, weight_sum, label_smoothing)
            ctx.save_for_backward(*gradients)
            ctx.dtype = hidden.dtype
        nll, correct = (norm - gold).sum(), (gold == top).sum()
        mean_logits = (hidden_sum @ weight_sum + count * bias.sum(dtype=wide)) / classes
        ctx.mark_non_differentiable(nll, correct)
        return (1 - label_smoothing) * nll + label_smoothing * (norm.sum() - mean_logits), nll, correct

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (
            torch.mul(gradient, output_gradients[0], out=torch.empty_like(gradient, dtype=ctx.dtype))
            for gradient in ctx.saved_tensors
        )
        return *scaled, None, None, None, None


class HeadGradients(NamedTuple):
    """dloss/dz = p - (1 - e) onehot(y) - e / V, propagated to the inputs of z.

    The last term is constant: it is added once, at the end, as a sum over rows or columns. The gradients of weight and
    bias are sums over all positions. A half-precision sum would stop growing when the addends are small compared to it,
    and float16 ends at 65,504: so they are float32, and rounded after they have been scaled.
    """

    hidden: Tensor
    weight: Tensor
    bias: Tensor

    @classmethod
    def zeros(cls, hidden: Tensor, weight: Tensor, wide: torch.dtype) -> HeadGradients:
        bias = weight.new_zeros(len(weight), dtype=wide)
        return cls(torch.empty_like(hidden), torch.zeros_like(weight, dtype=wide), bias)

    def add(
        self, rows: slice, p: Tensor, z: Tensor, hidden: Tensor, weight: Tensor, targets: Tensor, label_smoothing: float
    ) -> None:
        """Add the first two terms for these positions; their probabilities p and logits z [rows,V] are overwritten."""
        gold = targets[rows, None]
        p.scatter_add_(1, gold, p.new_full(gold.shape, label_smoothing - 1))
        self.bias.add_(p.sum(0))
        slope = p if p.dtype == z.dtype else z.copy_(p)
        torch.mm(slope, weight, out=self.hidden[rows])
        if self.weight.dtype == slope.dtype:
            self.weight.addmm_(slope.T, hidden[rows])
        else:
            self.weight.add_(slope.T @ hidden[rows])

    def smooth(self, hidden_sum: Tensor, weight_sum: Tensor, label_smoothing: float) -> None:
        """Add the last term for all positions."""
        constant = label_smoothing / len(self.weight)
        self.hidden.sub_(constant * weight_sum)
        self.weight.sub_(constant * hidden_sum)
        self.bias.sub_(constant * len(self.hidden))


def token_log_probs(head: Head, hidden: Tensor, targets: Tensor, chunk_size: int | None) -> Tensor:
    """hidden [M,D], targets [M] -> log p [M]; the logits of a chunk are computed again for its gradient."""
    length = chunk_length(hidden, chunk_size)
    chunks = [
        checkpoint(_chunk_log_probs, head, *chunk, use_reentrant=False, preserve_rng_state=False)
        for chunk in zip(torch.split(hidden, length), torch.split(targets, length), strict=True)
    ]
    return torch.cat(cast(list[Tensor], chunks))


def _chunk_log_probs(head: Head, hidden: Tensor, targets: Tensor) -> Tensor:
    return head(hidden).log_softmax(-1).gather(1, targets[:, None])[:, 0]


def group_sums(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """values [M], the group of each [M] -> the sum of each group [count]."""
    return values.new_zeros(count).index_add(0, groups, values)
