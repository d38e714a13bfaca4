"""Law 4: sampled losses equal the equations of their papers in numpy, and with all classes the full softmax."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from laws.numpy_reference import Array, array, sigmoid
from laws.objective_context import OBJECTIVE_CONTEXT, counts
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
    result: Model = MODELS["decoder-transformer"]()
    return result


@pytest.fixture(params=[True, False], ids=["bias", "no-bias"])
def head(request: pytest.FixtureRequest) -> LinearHead:
    torch.manual_seed(4)
    result = LinearHead(8, 30, bias=request.param).double()
    if result.bias is not None:
        torch.nn.init.normal_(result.bias)
    return result


def positions(count: int = 6) -> tuple[Tensor, Tensor]:
    """Return hidden states and their target classes, two of which are equal."""
    torch.manual_seed(2)
    return torch.randn(count, 8, dtype=torch.float64), torch.randint(3, 10, (count,)).index_fill_(0, torch.arange(2), 4)


def plain_logits(hidden: Tensor, head: LinearHead) -> Array:
    logits: Array = array(hidden) @ array(head.weight).T
    return logits if head.bias is None else logits + array(head.bias)


def test_partial_softmax_equals_paper_equation(head: LinearHead) -> None:
    """Some targets are in the drawn set, others are not; targets of other positions do not count."""
    hidden, targets = positions()
    corrections = np.full(30, -np.inf)
    corrections[[4, 5, 20, 25]] = [0.0, 0.7, 1.5, 2.0]
    logits = plain_logits(hidden, head)
    expected = 0.0
    for row, target in enumerate(targets.tolist()):
        others = [v for v in (4, 5, 20, 25) if v != target]
        below = np.exp(logits[row, target]) + sum(np.exp(logits[row, v] + corrections[v]) for v in others)
        expected -= np.log(np.exp(logits[row, target]) / below)
    assert partial_softmax_nll(hidden, head, targets, torch.from_numpy(corrections)).item() == pytest.approx(expected)


def test_negative_sampling_equals_paper_equation(head: LinearHead) -> None:
    hidden, targets = positions()
    wrong = torch.randint(3, 30, (6, 3))
    wrong[2, 1] = targets[2]  # a negative that equals the target does not count
    logits = plain_logits(hidden, head)
    expected = 0.0
    for row, target in enumerate(targets.tolist()):
        negatives = [v for v in wrong[row].tolist() if v != target]
        expected -= float(np.log(sigmoid(logits[row, target])) + np.log(sigmoid(-logits[row, negatives])).sum())
    assert negative_sampling_loss(hidden, head, targets, wrong).item() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [SampledSoftmaxLoss, BucketedVocabularyLoss])
def test_loss_over_all_classes_equals_full_softmax(model: Model, kind: Callable[..., Objective]) -> None:
    weights = list(model.parameters())
    loss, full = (
        kind(OBJECTIVE_CONTEXT, sample_size=SIZE)(model, PAIRS, 1),
        CrossEntropyLoss(OBJECTIVE_CONTEXT, label_smoothing=0.0)(model, PAIRS, 1),
    )
    assert_close(loss.total, full.total)
    assert float(loss.count) == float(full.count)
    gradients = (torch.autograd.grad(result.total, weights, allow_unused=True) for result in (loss, full))
    for ours, expected in zip(*gradients, strict=True):
        assert_close(ours, expected)


@pytest.mark.parametrize(
    "proposal",
    [UnigramProposal(), LogUniformProposal(), UniformProposal()],
    ids=lambda proposal: type(proposal).__name__,
)
def test_mean_gradient_error_shrinks_with_sample_size(proposal: ProposalDistribution) -> None:
    """The sampled sum of exponentials is unbiased; its logarithm, and so the gradient, only in the limit."""
    torch.manual_seed(1)
    head, (hidden, targets) = LinearHead(8, 200).double(), positions(20)
    counts_by_rank = np.arange(200, 0, -1)
    (expected,) = torch.autograd.grad(F.cross_entropy(head(hidden), targets, reduction="sum"), head.weight)
    errors = [
        relative_error(
            mean_gradient(head, hidden, targets, inclusion_probabilities(proposal(counts_by_rank), size)), expected
        )
        for size in SIZES
    ]
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]
    assert errors[2] < 0.1


SIZES = (10, 40, 160)


def mean_gradient(head: LinearHead, hidden: Tensor, targets: Tensor, inclusion: Array, draws: int = 100) -> Tensor:
    """Return the mean gradient over `draws` independent samples."""
    probabilities = torch.from_numpy(inclusion)
    total = torch.zeros_like(head.weight)
    for _ in range(draws):
        drawn = torch.rand_like(probabilities) < probabilities
        corrections = torch.where(drawn, -probabilities.log(), float("-inf"))
        total += torch.autograd.grad(partial_softmax_nll(hidden, head, targets, corrections), head.weight)[0]
    return total / draws


def relative_error(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


@torch.no_grad()
def test_sampled_softmax_sum_is_unbiased() -> None:
    """exp(loss) of a position is a sum over drawn classes, without the bias of the logarithm."""
    torch.manual_seed(3)
    head, (hidden, targets) = LinearHead(8, SIZE).double(), (tensor[:1] for tensor in positions())
    objective, draws = SampledSoftmaxLoss(OBJECTIVE_CONTEXT, sample_size=4), 2000
    losses = [partial_softmax_nll(hidden, head, targets, objective.draw().double()) for _ in range(draws)]
    sums = torch.stack(losses).exp()
    expected = F.cross_entropy(head(hidden), targets).exp()
    assert sums.std() > 0.1
    assert float(sums.mean()) == pytest.approx(float(expected), abs=4 * float(sums.std()) / draws**0.5)


def test_bucket_depends_on_window_and_seed() -> None:
    def buckets(seed: int) -> list[list[bool]]:
        context = replace(OBJECTIVE_CONTEXT, seed=seed, counts=lambda: np.arange(1000) % 7)
        objective = BucketedVocabularyLoss(context, sample_size=300, bucket_steps=10)
        return [objective.vocabulary(step).tolist() for step in (1, 10, 11, 20, 21)]

    first, first_again, second, second_again, third = buckets(1)
    assert first == first_again
    assert second == second_again
    assert len({tuple(bucket) for bucket in (first, second, third, buckets(2)[0])}) == 4
    assert buckets(1)[4] == third
    assert sum(first) == pytest.approx(300, abs=60)


def test_bucket_contains_tokens_of_batch(model: Model) -> None:
    """With an empty bucket, the softmax is over the tokens of the batch."""
    objective = BucketedVocabularyLoss(replace(OBJECTIVE_CONTEXT, counts=lambda: counts() * 0), sample_size=1)
    step = next(step for step in range(1, 10_000, 100) if not objective.vocabulary(step).any())
    targets = PAIRS.target.data[PAIRS.target.mask]
    batch_tokens = torch.tensor(sorted(set(targets.tolist())))
    logits = model.head(model.features(PAIRS).hidden[PAIRS.target.mask])[:, batch_tokens]
    expected = F.cross_entropy(logits, torch.searchsorted(batch_tokens, targets), reduction="sum")
    assert_close(objective(model, PAIRS, step).total, expected)


@pytest.mark.parametrize("kind", [SampledSoftmaxLoss, BucketedVocabularyLoss, NegativeSamplingLoss])
def test_validation_uses_cross_entropy_over_all_classes(model: Model, kind: Callable[..., Objective]) -> None:
    actual, expected = (
        kind(OBJECTIVE_CONTEXT)(model, PAIRS),
        CrossEntropyLoss(OBJECTIVE_CONTEXT, label_smoothing=0.0)(model, PAIRS),
    )
    assert_close((actual.total, actual.count, actual.parts), (expected.total, expected.count, expected.parts))
    assert set(expected.parts) == {"nll", "accuracy"}


def test_negatives_are_drawn_for_every_batch(model: Model) -> None:
    torch.manual_seed(1)
    objective = NegativeSamplingLoss(OBJECTIVE_CONTEXT, negatives=2)
    losses = {round(objective(model, PAIRS, 1).total.item(), 6) for _ in range(3)}
    assert len(losses) == 3
    torch.manual_seed(1)
    assert round(objective(model, PAIRS, 1).total.item(), 6) in losses
