"""The softmax over the right class and some others, drawn for each batch."""

import torch
from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.types import Count, Make
from weft.data.batches import Batch
from weft.model.model import Model
from weft.model.roles import Head
from weft.objective.cross_entropy import cross_entropy
from weft.objective.proposals import Proposal, Unigram, inclusion
from weft.objective.role import Given, Loss


class SampledSoftmax(nn.Module):
    """loss = -log(exp z_y / (exp z_y + sum_v exp(z_v - log pi_v))), v over a drawn set without y.

    Importance sampling: Bengio & Senécal 2008; Jean et al. 2015, section 3.1. All positions of a batch share one set of
    about `classes` classes, in which class v is with probability pi_v (see `inclusion`). So the sum under the fraction
    line is right on average; its logarithm, and with it the gradient, is so the better the more classes there are, and
    exactly when all are drawn. There is no label smoothing.

    In validation the loss is the cross-entropy over the whole vocabulary.
    """

    def __init__(self, given: Given, *, classes: Count = 8192, proposal: Make[Proposal] = Unigram):
        super().__init__()
        self.included = torch.from_numpy(inclusion(proposal()(given.counts()), classes)).float()

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden
        if step is None:
            return cross_entropy(model.head, outputs, batch.target)
        return partial_loss(model.head, outputs, batch.target, self.draw())

    def draw(self) -> Tensor:
        """[V], -log pi_v of the classes of a new set, minus infinity for all others."""
        drawn = torch.rand_like(self.included) < self.included
        return torch.where(drawn, -self.included.log(), float("-inf"))


def partial_loss(head: Head, outputs: Tensor, target: Padded, corrections: Tensor) -> Loss:
    """The loss of a decoder's outputs [B,T,D], with a softmax over the classes whose corrections [V] are finite."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total = partial_softmax(hidden, head, targets, corrections.to(hidden.device))
    return Loss(total, total.new_tensor(len(targets)), {})


def partial_softmax(hidden: Tensor, head: Head, targets: Tensor, corrections: Tensor) -> Tensor:
    """sum -log(exp z_y / (exp z_y + sum_{v != y} exp(z_v + c_v))), c [V] = minus infinity for a class that is left out.

    hidden [M,D], targets [M]. Of the head only the rows of the other classes are read, and get a gradient.
    """
    compared = corrections.isfinite().index_fill(0, targets, True)  # [V]
    classes = compared.nonzero()[:, 0]
    columns = (compared.cumsum(0) - 1)[targets, None]  # where each right class stands among them
    logits = head(hidden, classes)
    right = logits.gather(1, columns)
    corrected = (logits + corrections[classes]).scatter(1, columns, right)
    return (corrected.logsumexp(1, keepdim=True) - right).sum()
