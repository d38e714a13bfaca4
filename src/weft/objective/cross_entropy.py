"""Cross-entropy with label smoothing, without ever holding all logits."""

import torch
from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.types import Count, Make, Rate
from weft.data.batches import Batch
from weft.model.model import Model
from weft.model.roles import Head
from weft.objective.feeding import Feeding, Truth
from weft.objective.head_and_loss import head_and_loss
from weft.objective.role import Given, Loss


class CrossEntropy(nn.Module):
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), e = smoothing spread over all V classes.

    Szegedy et al. 2016, section 7; torch's convention (e / V for each class, the right one included). Padding does not
    count. `parts`: the plain negative log-likelihood, whose mean is the logarithm of the perplexity, and 100 for each
    token guessed right, whose mean is the accuracy in percent. feeding: what the decoder is fed in training. chunk: of
    how many positions the logits are held at a time (null: as many as suit the device).
    """

    def __init__(
        self,
        given: Given,  # noqa: ARG002 (as all objectives)
        *,
        smoothing: Rate = 0.1,
        feeding: Make[Feeding] = Truth,
        chunk: Count | None = None,
    ):
        super().__init__()
        self.feeding = feeding()
        self.truth = Truth()
        self.smoothing = smoothing
        self.chunk = chunk

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = self.truth(model, batch, 0) if step is None else self.feeding(model, batch, step)
        return cross_entropy(model.head, outputs, batch.target, self.smoothing, self.chunk)


def cross_entropy(
    head: Head, outputs: Tensor, target: Padded, smoothing: float = 0.0, chunk: int | None = None
) -> Loss:
    """The loss of a decoder's outputs [B,T,D] for a target [B,T], as CrossEntropy describes it."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total, likelihood, right = head_and_loss(hidden, head, targets, smoothing, chunk)
    count = torch.tensor(float(len(targets)), device=hidden.device)
    return Loss(total, count, {"nll": likelihood, "accuracy": 100 * right})
