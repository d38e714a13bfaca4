"""Telling the right class from a few wrong ones, each by itself."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.types import Count, Make
from weft.core.wide import wide
from weft.data.batches import Batch
from weft.model.model import Model
from weft.model.roles import Head
from weft.objective.cross_entropy import cross_entropy
from weft.objective.proposals import Proposal, Unigram
from weft.objective.role import Given, Loss


class NegativeSampling(nn.Module):
    """loss = -log sigmoid(z_y) - sum_v log sigmoid(-z_v), v = `negatives` draws from q. Mikolov et al. 2013, eq. 4.

    Made for word vectors, and a poor choice for a model that is to say something. What it learns is not a distribution:
    at its best z_v = log p(v) - log(k q(v)), k = `negatives` (Levy & Goldberg 2014), so the softmax of z is p / q
    instead of p, and search prefers rare words. It stands here to be compared with: take `sampled-softmax`.

    Every position has draws of its own; those that are the right class do not count. In validation the loss is the
    cross-entropy over the whole vocabulary, which shows the fault.
    """

    def __init__(self, given: Given, *, negatives: Count = 10, proposal: Make[Proposal] = Unigram):
        super().__init__()
        self.negatives = negatives
        self.probabilities = torch.from_numpy(proposal()(given.counts()))

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs, target = model.features(batch).hidden, batch.target
        if step is None:
            return cross_entropy(model.head, outputs, target)
        hidden, targets = outputs[target.mask], target.data[target.mask]  # [M,D] and [M], real positions only
        drawn = torch.multinomial(self.probabilities, len(targets) * self.negatives, replacement=True)
        wrong = drawn.view(len(targets), self.negatives).to(targets)
        total = negative_loss(hidden, model.head, targets, wrong)
        return Loss(total, total.new_tensor(len(targets)), {})


def negative_loss(hidden: Tensor, head: Head, targets: Tensor, wrong: Tensor) -> Tensor:
    """hidden [M,D], targets [M], wrong [M,N]."""
    right_logits = logits_of(hidden, head, targets[:, None])
    wrong_logits = logits_of(hidden, head, wrong).masked_fill(wrong == targets[:, None], float("-inf"))
    return F.softplus(-right_logits).sum() + F.softplus(wrong_logits).sum()  # -log sigmoid(z) = softplus(-z)


def logits_of(hidden: Tensor, head: Head, classes: Tensor) -> Tensor:
    """Of each position [M,D] the logits of its own classes [M,N]."""
    logits = wide(torch.einsum("md,mnd->mn", hidden, head.rows(classes)))
    return logits if head.bias is None else logits + F.embedding(classes, head.bias[:, None])[..., 0]
