"""Decoder inputs in training: teacher forcing, free running and scheduled sampling."""

import pytest
import torch
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import MODELS, batch
from weft.core.special_tokens import BOS, PAD
from weft.decoding.greedy import GreedySearch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.scheduled_sampling import (
    ConstantProbability,
    DecoderInputPolicy,
    ExponentialDecay,
    FreeRunning,
    InverseSigmoidDecay,
    LinearDecay,
    ScheduledSampling,
    TeacherForcing,
    predict_tokens,
)
from weft.models.model import Model

PAIRS = batch((5, 6), (3, 4))


@pytest.fixture(params=["decoder-luong", "decoder-transformer"])
def model(request: pytest.FixtureRequest) -> Model:
    model: Model = MODELS[request.param]()
    return model


def constant(probability: float) -> ConstantProbability:
    return ConstantProbability(probability=probability)


@pytest.mark.parametrize("method", ["stepwise", "two-pass"])
@pytest.mark.parametrize("sample_per", ["token", "sequence"])
def test_probability_one_equals_teacher_forcing(model: Model, method: str, sample_per: str) -> None:
    scheduled = ScheduledSampling(schedule=lambda: constant(1.0), sample_per=sample_per, method=method)  # type: ignore[arg-type]
    assert_close(scheduled(model, PAIRS, 1), TeacherForcing()(model, PAIRS, 1), atol=1e-10, rtol=0)


def test_free_running_equals_greedy_search(model: Model) -> None:
    """The argmax tokens equal those of greedy search up to EOS, whatever the reference."""
    logits = model.head(FreeRunning()(model, PAIRS, 1))
    logits[..., [PAD, BOS]] = float("-inf")
    tokens = logits.argmax(-1)
    limit = torch.full((len(tokens),), tokens.shape[1] - 1)
    found = GreedySearch()(model.step, model.start(model.encode(PAIRS.source)), limit, limit)
    for row, (hypothesis,) in enumerate(found):
        assert tokens[row, : len(hypothesis.tokens)].tolist() == list(hypothesis.tokens)


@pytest.mark.parametrize(
    "policy", [FreeRunning(), ScheduledSampling(schedule=lambda: constant(0.0), prediction="argmax")]
)
def test_policies_without_references_ignore_the_target(model: Model, policy: DecoderInputPolicy) -> None:
    other = PAIRS._replace(target=PAIRS.target.with_data(PAIRS.target.data.clamp(min=3).roll(1, 0)))
    assert_close(policy(model, PAIRS, 1), policy(model, other, 1), atol=1e-12, rtol=0)


def test_sampling_per_sequence_uses_one_policy_per_row(model: Model) -> None:
    """Each row is either teacher forcing or free running."""
    torch.manual_seed(3)
    scheduled = ScheduledSampling(schedule=lambda: constant(0.5), sample_per="sequence", prediction="argmax")
    forced, free = TeacherForcing()(model, PAIRS, 1), FreeRunning()(model, PAIRS, 1)
    kinds = set()
    for _ in range(10):
        for row, hidden in enumerate(scheduled(model, PAIRS, 1)):
            is_forced = torch.allclose(hidden, forced[row], atol=1e-9)
            assert is_forced or torch.allclose(hidden, free[row], atol=1e-9)
            kinds.add(is_forced)
    assert kinds == {True, False}


def test_sampled_tokens_follow_the_model_distribution(model: Model) -> None:
    torch.manual_seed(1)
    hidden = TeacherForcing()(model, PAIRS, 1)[0, 0].detach()
    drawn = predict_tokens(model, hidden.expand(20_000, -1), "sample")
    shares = torch.bincount(drawn, minlength=11).double() / len(drawn)
    logits = model.head(hidden)
    logits[[PAD, BOS]] = float("-inf")
    assert_close(shares, logits.softmax(-1), atol=0.02, rtol=0)


def test_probability_schedules() -> None:
    assert [LinearDecay(initial=0.9, slope=0.1, minimum=0.3)(step) for step in (0, 2, 100)] == pytest.approx(
        [0.9, 0.7, 0.3]
    )
    assert ExponentialDecay(base=0.5)(3) == 0.125
    k = 10.0
    decay = InverseSigmoidDecay(k=k)
    assert decay(0) == pytest.approx(k / (k + 1))
    assert decay(23) == pytest.approx(0.5, abs=0.01)  # k log k = 23.03
    assert decay(10**9) == pytest.approx(0.0)


def test_validation_uses_teacher_forcing(model: Model) -> None:
    plain, free = CrossEntropyLoss(OBJECTIVE_CONTEXT), CrossEntropyLoss(OBJECTIVE_CONTEXT, decoder_input=FreeRunning)
    assert_close(free(model, PAIRS).total, plain(model, PAIRS).total)
    assert free(model, PAIRS, 1).total > plain(model, PAIRS, 1).total
