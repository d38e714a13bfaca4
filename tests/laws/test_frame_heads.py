"""Law 2 for every frame head: padding changes nothing; a batch of two equals two batches of one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.test_decoders import single_row
from laws.variants import FRAME_HEADS, VOCABULARY, base_configs, batch, make, small, variants
from weft.config.registry import REGISTRY
from weft.data.batches import Batch
from weft.losses.frame_losses import CTCLoss, JointCTCLoss
from weft.losses.objective import Loss, Objective
from weft.models.interfaces import FrameHead
from weft.models.model import Model

PAIRS = batch((6, 3), (2, 4))


@pytest.fixture(params=FRAME_HEADS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    result: Model = FRAME_HEADS[request.param]()
    return result


def test_batch_of_two_equals_two_batches_of_one(model: Model) -> None:
    batched = model.frames(PAIRS.source)
    for row in range(2):
        single = model.frames(single_row(PAIRS, row).source)
        count = int(batched.mask[row].sum())
        assert single.mask.shape[1] == count
        assert_close(batched.log_probs[row, :count], single.log_probs[0], atol=1e-10, rtol=0)
        if batched.lengths is not None and single.lengths is not None:
            width = single.lengths.shape[1]
            assert_close(batched.lengths[row, :width], single.lengths[0], atol=1e-10, rtol=0)


def test_padding_values_do_not_change_frames(model: Model) -> None:
    changed = PAIRS.source.with_data(PAIRS.source.data.masked_fill(~PAIRS.source.mask, 7))
    actual, expected = model.frames(changed), model.frames(PAIRS.source)
    assert torch.equal(actual.mask, expected.mask)
    assert_close(actual.log_probs[actual.mask], expected.log_probs[expected.mask], atol=1e-12, rtol=0)


def test_frame_is_distribution_over_classes(model: Model) -> None:
    frames = model.frames(PAIRS.source)
    assert model.frame_head is not None
    assert frames.log_probs.shape[-1] == len(VOCABULARY) + model.frame_head.blank
    assert_close(frames.log_probs.logsumexp(-1), torch.zeros(frames.mask.shape, dtype=torch.float64))


def test_real_frames_come_first(model: Model) -> None:
    mask = model.frames(PAIRS.source).mask
    assert (mask.long().diff(dim=1) <= 0).all()


def test_only_source_encoder_and_frame_head_have_parameters(model: Model) -> None:
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    assert names == {"source", "encoder", "frame_head"}


def model_with_decoder() -> Model:
    return make(replace(next(base_configs()), frame_head=small(REGISTRY[FrameHead]["ctc"])))


OBJECTIVES: dict[str, Callable[[], Model]] = {
    variant.name: model_with_decoder if variant.name.startswith("joint") else FRAME_HEADS["ctc"]
    for variant in variants(Objective)
    if variant.name.split("-")[0] in ("ctc", "joint")
}


@pytest.fixture(params=OBJECTIVES)
def loss(request: pytest.FixtureRequest) -> Callable[[Batch], dict[str, torch.Tensor]]:
    """Return a function that computes the sums of a CTC objective."""
    objective, model = REGISTRY[Objective][request.param](OBJECTIVE_CONTEXT), OBJECTIVES[request.param]()

    def sums(pairs: Batch) -> dict[str, torch.Tensor]:
        actual: Loss = objective(model, pairs, 1)
        return {"total": actual.total, "count": actual.count, **actual.parts}

    return sums


def test_loss_of_batch_is_sum_of_losses(loss: Callable[[Batch], dict[str, torch.Tensor]]) -> None:
    single = [loss(single_row(PAIRS, row)) for row in range(2)]
    for name, total in loss(PAIRS).items():
        assert_close(total, single[0][name] + single[1][name], atol=1e-9, rtol=0, check_dtype=False)


def test_padding_values_do_not_change_loss(loss: Callable[[Batch], dict[str, torch.Tensor]]) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    changed = Batch(source, target, PAIRS.corpus_indices)
    assert_close(loss(changed), loss(PAIRS), atol=1e-10, rtol=0)


def test_joint_loss_is_weighted_sum() -> None:
    model = model_with_decoder()
    ctc, cross_entropy, joint = (
        objective(model, PAIRS, 1).total
        for objective in (
            CTCLoss(OBJECTIVE_CONTEXT),
            REGISTRY[Objective]["cross-entropy"](OBJECTIVE_CONTEXT),
            JointCTCLoss(OBJECTIVE_CONTEXT, ctc_weight=0.3),
        )
    )
    assert_close(joint, 0.3 * ctc + 0.7 * cross_entropy)
