"""Losses over a part of a large vocabulary: a softmax over classes sampled for each batch, with importance correction
(Bengio & Senécal 2008), or for each segment of the training (Jean et al. 2015); negative sampling (Mikolov et al.
2013); and the distributions that classes are sampled from. In validation they all are the full cross-entropy.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from weft.core.padded import Padded, upcast
from weft.core.seeds import derive_seed
from weft.core.setting_types import Factory, PositiveInt, UnitInterval
from weft.data.batches import Batch
from weft.losses.cross_entropy import cross_entropy
from weft.losses.objective import Loss, ObjectiveContext, TokenCounts
from weft.models.interfaces import Head
from weft.models.model import Model

Probabilities: TypeAlias = NDArray[np.float64]


class ProposalDistribution(Protocol):
    """A distribution over the classes [V], from their frequencies [V]. No class has probability 0."""

    def __call__(self, counts: TokenCounts) -> Probabilities: ...


@dataclass(frozen=True, kw_only=True)
class UnigramProposal:
    """q(v) ~ (count(v) + 1)^power. With 3/4, rare classes are drawn more often than they occur. Mikolov et al. 2013."""

    power: UnitInterval = 0.75

    def __call__(self, counts: TokenCounts) -> Probabilities:
        return _normalize(np.asarray((counts + 1.0) ** self.power, np.float64))


class UniformProposal:
    """q(v) = 1 / V."""

    def __call__(self, counts: TokenCounts) -> Probabilities:
        return _normalize(np.ones(len(counts)))


class LogUniformProposal:
    """q(v) = log((r + 1) / r) / log(V + 1), r = the rank of v by frequency: near 1 / r, Zipf's law.

    Ranks come from the counts, since the ids of a tokenizer need not be ordered by frequency.
    """

    def __call__(self, counts: TokenCounts) -> Probabilities:
        ranks = np.empty(len(counts))
        ranks[np.argsort(-counts, kind="stable")] = np.arange(1, len(counts) + 1)
        return _normalize(np.log1p(1 / ranks))


def _normalize(weights: Probabilities) -> Probabilities:
    normalized: Probabilities = weights / weights.sum()
    return normalized


def inclusion_probabilities(proposal: Probabilities, size: int) -> Probabilities:
    """Return pi(v) = min(1, c q(v)), the probability that class v is in a sample, with c such that sum pi(v) = size.

    Each class is drawn independently (Poisson sampling), so a sample has `size` classes on average.
    """
    if size >= len(proposal):
        return np.ones(len(proposal))
    ordered = np.sort(proposal)[::-1]
    rest = ordered[::-1].cumsum()[::-1][:size]  # the total of each class and all below it
    factors = (size - np.arange(size)) / rest  # c, if all classes above are certain
    certain = int(np.argmax(factors * ordered[:size] <= 1))  # the number of certain classes
    included: Probabilities = np.minimum(1.0, factors[certain] * proposal)
    return included


class SampledSoftmaxLoss:
    """loss = -log(exp z_y / (exp z_y + sum_v exp(z_v - log pi_v))), v over a sample without y.

    Importance sampling: Bengio & Senécal 2008; Jean et al. 2015, section 3.1. All positions of a batch share a sample
    of about `sample_size` classes, which contains class v with probability pi_v (see `inclusion_probabilities`). The
    denominator is unbiased; its logarithm, and with it the gradient, is the more accurate the more classes there are,
    and exact when all are drawn. There is no label smoothing.
    """

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        sample_size: PositiveInt = 8192,
        proposal: Factory[ProposalDistribution] = UnigramProposal,
    ):
        self.included = torch.from_numpy(inclusion_probabilities(proposal()(context.counts()), sample_size)).float()

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden
        if step is None:
            return cross_entropy(model.head, outputs, batch.target)
        return partial_softmax_loss(model.head, outputs, batch.target, self.draw())

    def draw(self) -> Tensor:
        """Draw a sample: return -log pi_v of its classes and -inf for all others [V]."""
        drawn = torch.rand_like(self.included) < self.included
        return torch.where(drawn, -self.included.log(), float("-inf"))


def partial_softmax_loss(head: Head, outputs: Tensor, target: Padded, corrections: Tensor) -> Loss:
    """Return the loss of decoder outputs [B,T,D], with a softmax over the classes whose corrections [V] are finite."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total = partial_softmax_nll(hidden, head, targets, corrections.to(hidden.device))
    return Loss(total, total.new_tensor(len(targets)), {})


def partial_softmax_nll(hidden: Tensor, head: Head, targets: Tensor, corrections: Tensor) -> Tensor:
    """sum -log(exp z_y / (exp z_y + sum_{v != y} exp(z_v + c_v))), c [V] = -inf for classes that are left out.

    hidden [M,D], targets [M]. Only the rows of the compared classes are read from the head, and get a gradient.
    """
    is_compared = corrections.isfinite().index_fill(0, targets, True)  # [V]
    classes = is_compared.nonzero()[:, 0]
    columns = (is_compared.cumsum(0) - 1)[targets, None]  # of each target among the compared classes
    logits = head(hidden, classes)
    gold = logits.gather(1, columns)
    corrected = (logits + corrections[classes]).scatter(1, columns, gold)
    return (corrected.logsumexp(1, keepdim=True) - gold).sum()


class BucketedVocabularyLoss:
    """loss = -log(exp z_y / sum_{v in V'} exp z_v), V' = the words of a segment of the training. Jean et al. 2015.

    As there (section 3.1), training goes through segments with vocabularies V' far smaller than V, and nothing corrects
    for the words that V' lacks: the proposal is uniform over V', so it cancels.

    The difference: there, a segment is as many consecutive sentences as have `sample_size` different words, and V' are
    these words. Here a segment is `bucket_steps` updates. Pairs are shuffled in each epoch, so the words of a segment
    are a random sample of those of the corpus, and V' is sampled: each word with a probability proportional to its
    frequency, at most 1, `sample_size` of them on average. It depends on the seed and the number of the segment, so a
    run can be resumed within one. Words of a batch that V' lacks are added for this batch.

    The model is normalized over the words of a segment, not over all: a word that is in one of ten segments becomes up
    to ten times too likely compared to words that are in all of them. Jean et al. therefore search among candidates for
    each sentence. `sampled-softmax` does not have this flaw.
    """

    def __init__(
        self, context: ObjectiveContext, *, sample_size: PositiveInt = 16_384, bucket_steps: PositiveInt = 100
    ):
        self.seed, self.bucket_steps = context.seed, bucket_steps
        proposal = UnigramProposal(power=1.0)(context.counts())
        self.included = torch.from_numpy(inclusion_probabilities(proposal, sample_size)).float()

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs, target = model.features(batch).hidden, batch.target
        if step is None:
            return cross_entropy(model.head, outputs, target)
        vocabulary = self.vocabulary(step).index_fill(0, target.data[target.mask].cpu(), True)
        return partial_softmax_loss(model.head, outputs, target, torch.where(vocabulary, 0.0, float("-inf")))

    def vocabulary(self, step: int) -> Tensor:
        """Return which words are in the segment of this update, counted from 1 [V]."""
        generator = torch.Generator().manual_seed(derive_seed(self.seed, "vocabulary", (step - 1) // self.bucket_steps))
        return torch.rand(len(self.included), generator=generator) < self.included


class NegativeSamplingLoss:
    """loss = -log sigmoid(z_y) - sum_v log sigmoid(-z_v), v = `negatives` draws from q. Mikolov et al. 2013, eq. 4.

    Made for word vectors, and a poor choice for a model that generates text: at the optimum
    z_v = log p(v) - log(k q(v)), k = `negatives` (Levy & Goldberg 2014), so the softmax of z is proportional to p / q,
    and search prefers rare words. It is here for comparison; use `sampled-softmax`.

    Every position has its own draws; those that are the correct class do not count.
    """

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        negatives: PositiveInt = 10,
        proposal: Factory[ProposalDistribution] = UnigramProposal,
    ):
        self.negatives = negatives
        self.probabilities = torch.from_numpy(proposal()(context.counts()))

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs, target = model.features(batch).hidden, batch.target
        if step is None:
            return cross_entropy(model.head, outputs, target)
        hidden, targets = outputs[target.mask], target.data[target.mask]  # [M,D] and [M], real positions only
        drawn = torch.multinomial(self.probabilities, len(targets) * self.negatives, replacement=True)
        wrong = drawn.view(len(targets), self.negatives).to(targets)
        total = negative_sampling_loss(hidden, model.head, targets, wrong)
        return Loss(total, total.new_tensor(len(targets)), {})


def negative_sampling_loss(hidden: Tensor, head: Head, targets: Tensor, wrong: Tensor) -> Tensor:
    """hidden [M,D], targets [M], wrong [M,N] -> the sum of the losses."""
    gold_logits = _class_logits(hidden, head, targets[:, None])
    wrong_logits = _class_logits(hidden, head, wrong).masked_fill(wrong == targets[:, None], float("-inf"))
    return F.softplus(-gold_logits).sum() + F.softplus(wrong_logits).sum()  # -log sigmoid(z) = softplus(-z)


def _class_logits(hidden: Tensor, head: Head, classes: Tensor) -> Tensor:
    """hidden [M,D], classes of each position [M,N] -> their logits [M,N]."""
    logits = upcast(torch.einsum("md,mnd->mn", hidden, head.rows(classes)))
    return logits if head.bias is None else logits + F.embedding(classes, head.bias[:, None])[..., 0]
