"""Law 4: objectives over some of the classes equal a plain writing of their papers, and the softmax over all."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from laws.given import GIVEN, counts
from laws.plainly import Array, array, sigmoid
from laws.variants import MODELS, VOCABULARY, batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.objective import Objective
from weft.losses.sampled_losses import (
    BucketedVocabularyLoss,
    LogUniformProposal,
    NegativeSamplingLoss,
    ProposalDistribution,
    SampledSoftmaxLoss,
    UniformProposal,
    UnigramProposal,
    inclusion_probabilities,
    negative_sampling_loss,
    partial_softmax_nll,
)
from weft.models.heads import LinearHead
from weft.models.model import Model

PAIRS = batch((5, 6), (3, 4))
SIZE = len(VOCABULARY)


@pytest.fixture
def model() -> Model:
    made: Model = MODELS["decoder-transformer"]()
    return made


@pytest.fixture(params=[True, False], ids=["bias", "no-bias"])
def head(request: pytest.FixtureRequest) -> LinearHead:
    torch.manual_seed(4)
    made = LinearHead(8, 30, bias=request.param).double()
    if made.bias is not None:
        torch.nn.init.normal_(made.bias)
    return made


def positions(count: int = 6) -> tuple[Tensor, Tensor]:
    """Hidden states, and their right classes, of which two are the same."""
    torch.manual_seed(2)
    return torch.randn(count, 8, dtype=torch.float64), torch.randint(3, 10, (count,)).index_fill_(0, torch.arange(2), 4)


def plain_logits(hidden: Tensor, head: LinearHead) -> Array:
    logits: Array = array(hidden) @ array(head.weight).T
    return logits if head.bias is None else logits + array(head.bias)


def test_a_partial_softmax_is_the_papers(head: LinearHead) -> None:
    """Right classes are in the drawn set, or not, and those of other positions do not count for a position."""
    hidden, targets = positions()
    corrections = np.full(30, -np.inf)
    corrections[[4, 5, 20, 25]] = [0.0, 0.7, 1.5, 2.0]
    logits = plain_logits(hidden, head)
    expected = 0.0
    for row, right in enumerate(targets.tolist()):
        others = [v for v in (4, 5, 20, 25) if v != right]
        below = np.exp(logits[row, right]) + sum(np.exp(logits[row, v] + corrections[v]) for v in others)
        expected -= np.log(np.exp(logits[row, right]) / below)
    assert partial_softmax_nll(hidden, head, targets, torch.from_numpy(corrections)).item() == pytest.approx(expected)


def test_negative_sampling_is_the_papers(head: LinearHead) -> None:
    hidden, targets = positions()
    wrong = torch.randint(3, 30, (6, 3))
    wrong[2, 1] = targets[2]  # which does not count
    logits = plain_logits(hidden, head)
    expected = 0.0
    for row, right in enumerate(targets.tolist()):
        negatives = [v for v in wrong[row].tolist() if v != right]
        expected -= float(np.log(sigmoid(logits[row, right])) + np.log(sigmoid(-logits[row, negatives])).sum())
    assert negative_sampling_loss(hidden, head, targets, wrong).item() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [SampledSoftmaxLoss, BucketedVocabularyLoss])
def test_with_all_classes_it_is_the_full_softmax(model: Model, kind: Callable[..., Objective]) -> None:
    weights = list(model.parameters())
    loss, full = (
        kind(GIVEN, sample_size=SIZE)(model, PAIRS, 1),
        CrossEntropyLoss(GIVEN, label_smoothing=0.0)(model, PAIRS, 1),
    )
    assert_close(loss.total, full.total)
    assert float(loss.count) == float(full.count)
    gradients = (torch.autograd.grad(one.total, weights, allow_unused=True) for one in (loss, full))
    for ours, wanted in zip(*gradients, strict=True):
        assert_close(ours, wanted)


@pytest.mark.parametrize(
    "proposal", [UnigramProposal(), LogUniformProposal(), UniformProposal()], ids=lambda one: type(one).__name__
)
def test_the_mean_gradient_comes_nearer_the_more_classes_are_drawn(proposal: ProposalDistribution) -> None:
    """The sum of the exponentials is right on average; its logarithm, and so the gradient, is so in the limit."""
    torch.manual_seed(1)
    head, (hidden, targets) = LinearHead(8, 200).double(), positions(20)
    used = np.arange(200, 0, -1)
    (wanted,) = torch.autograd.grad(F.cross_entropy(head(hidden), targets, reduction="sum"), head.weight)
    errors = [
        distance(mean_gradient(head, hidden, targets, inclusion_probabilities(proposal(used), size)), wanted)
        for size in SIZES
    ]
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]
    assert errors[2] < 0.1


SIZES = (10, 40, 160)


def mean_gradient(head: LinearHead, hidden: Tensor, targets: Tensor, included: Array, draws: int = 100) -> Tensor:
    """Over sets that are drawn anew."""
    probabilities = torch.from_numpy(included)
    total = torch.zeros_like(head.weight)
    for _ in range(draws):
        drawn = torch.rand_like(probabilities) < probabilities
        corrections = torch.where(drawn, -probabilities.log(), float("-inf"))
        total += torch.autograd.grad(partial_softmax_nll(hidden, head, targets, corrections), head.weight)[0]
    return total / draws


def distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).norm() / other.norm())


@torch.no_grad()
def test_what_a_sampled_softmax_sums_is_right_on_average() -> None:
    """exp(loss) of a position is a sum over drawn classes, without the bias that the logarithm brings."""
    torch.manual_seed(3)
    head, (hidden, targets) = LinearHead(8, SIZE).double(), (side[:1] for side in positions())
    objective, draws = SampledSoftmaxLoss(GIVEN, sample_size=4), 2000
    losses = [partial_softmax_nll(hidden, head, targets, objective.draw().double()) for _ in range(draws)]
    sums = torch.stack(losses).exp()
    wanted = F.cross_entropy(head(hidden), targets).exp()
    assert sums.std() > 0.1
    assert float(sums.mean()) == pytest.approx(float(wanted), abs=4 * float(sums.std()) / draws**0.5)


def test_a_bucket_lasts_a_window_and_follows_from_the_seed() -> None:
    def buckets(seed: int) -> list[list[bool]]:
        given = replace(GIVEN, seed=seed, counts=lambda: np.arange(1000) % 7)
        objective = BucketedVocabularyLoss(given, sample_size=300, bucket_steps=10)
        return [objective.vocabulary(step).tolist() for step in (1, 10, 11, 20, 21)]

    first, again, second, still, third = buckets(1)
    assert first == again
    assert second == still
    assert len({tuple(one) for one in (first, second, third, buckets(2)[0])}) == 4
    assert buckets(1)[4] == third
    assert sum(first) == pytest.approx(300, abs=60)


def test_a_batchs_own_words_are_in_its_bucket(model: Model) -> None:
    """With a bucket of hardly any words, the softmax is over those of the batch."""
    objective = BucketedVocabularyLoss(replace(GIVEN, counts=lambda: counts() * 0), sample_size=1)
    step = next(step for step in range(1, 10_000, 100) if not objective.vocabulary(step).any())
    targets = PAIRS.target.data[PAIRS.target.mask]
    here = torch.tensor(sorted(set(targets.tolist())))
    logits = model.head(model.features(PAIRS).hidden[PAIRS.target.mask])[:, here]
    expected = F.cross_entropy(logits, torch.searchsorted(here, targets), reduction="sum")
    assert_close(objective(model, PAIRS, step).total, expected)


@pytest.mark.parametrize("kind", [SampledSoftmaxLoss, BucketedVocabularyLoss, NegativeSamplingLoss])
def test_validation_is_the_cross_entropy_over_all_classes(model: Model, kind: Callable[..., Objective]) -> None:
    found, wanted = kind(GIVEN)(model, PAIRS), CrossEntropyLoss(GIVEN, label_smoothing=0.0)(model, PAIRS)
    assert_close((found.total, found.count, found.parts), (wanted.total, wanted.count, wanted.parts))
    assert set(wanted.parts) == {"nll", "accuracy"}


def test_negatives_are_drawn_anew_for_every_batch(model: Model) -> None:
    torch.manual_seed(1)
    objective = NegativeSamplingLoss(GIVEN, negatives=2)
    losses = {round(objective(model, PAIRS, 1).total.item(), 6) for _ in range(3)}
    assert len(losses) == 3
    torch.manual_seed(1)
    assert round(objective(model, PAIRS, 1).total.item(), 6) in losses
