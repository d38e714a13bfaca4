"""Law 2 for every frame head: padding changes nothing; a batch of two = two batches of one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from laws.given import GIVEN
from laws.test_decoders import one_row
from laws.variants import FRAME_HEADS, VOCABULARY, bases, batch, make, small, variants
from weft.config.registry import REGISTRY
from weft.data.batches import Batch
from weft.losses.frame_losses import CTCLoss, JointCTCLoss
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.models.slots import FrameHead

PAIRS = batch((6, 3), (2, 4))


@pytest.fixture(params=FRAME_HEADS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    made: Model = FRAME_HEADS[request.param]()
    return made


def test_a_batch_of_two_equals_two_batches_of_one(model: Model) -> None:
    together = model.frames(PAIRS.source)
    for row in range(2):
        alone = model.frames(one_row(PAIRS, row).source)
        count = int(together.mask[row].sum())
        assert alone.mask.shape[1] == count
        assert_close(together.log_probs[row, :count], alone.log_probs[0], atol=1e-10, rtol=0)
        if together.lengths is not None and alone.lengths is not None:
            width = alone.lengths.shape[1]
            assert_close(together.lengths[row, :width], alone.lengths[0], atol=1e-10, rtol=0)


def test_what_stands_in_the_padding_changes_nothing(model: Model) -> None:
    scribbled = PAIRS.source.with_data(PAIRS.source.data.masked_fill(~PAIRS.source.mask, 7))
    found, wanted = model.frames(scribbled), model.frames(PAIRS.source)
    assert torch.equal(found.mask, wanted.mask)
    assert_close(found.log_probs[found.mask], wanted.log_probs[wanted.mask], atol=1e-12, rtol=0)


def test_a_frame_is_a_distribution_over_its_classes(model: Model) -> None:
    frames = model.frames(PAIRS.source)
    assert model.frame_head is not None
    assert frames.log_probs.shape[-1] == len(VOCABULARY) + model.frame_head.blank
    assert_close(frames.log_probs.logsumexp(-1), torch.zeros(frames.mask.shape, dtype=torch.float64))


def test_real_frames_come_first(model: Model) -> None:
    mask = model.frames(PAIRS.source).mask
    assert (mask.long().diff(dim=1) <= 0).all()


def test_nothing_else_of_the_model_is_asked_or_learned(model: Model) -> None:
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    assert names == {"source", "encoder", "frame_head"}


def beside_a_decoder() -> Model:
    return make(replace(next(bases()), frame_head=small(REGISTRY[FrameHead]["ctc"])))


OBJECTIVES: dict[str, Callable[[], Model]] = {
    one.name: beside_a_decoder if one.name.startswith("joint") else FRAME_HEADS["ctc"]
    for one in variants(Objective)
    if one.name.split("-")[0] in ("ctc", "joint")
}


@pytest.fixture(params=OBJECTIVES)
def loss(request: pytest.FixtureRequest) -> Callable[[Batch], dict[str, torch.Tensor]]:
    """The sums of an objective of paths."""
    objective, model = REGISTRY[Objective][request.param](GIVEN), OBJECTIVES[request.param]()

    def sums(pairs: Batch) -> dict[str, torch.Tensor]:
        found: Loss = objective(model, pairs, 1)
        return {"total": found.total, "count": found.count, **found.parts}

    return sums


def test_the_loss_of_two_is_the_sum_of_two_losses(loss: Callable[[Batch], dict[str, torch.Tensor]]) -> None:
    alone = [loss(one_row(PAIRS, row)) for row in range(2)]
    for name, total in loss(PAIRS).items():
        assert_close(total, alone[0][name] + alone[1][name], atol=1e-9, rtol=0, check_dtype=False)


def test_the_padding_of_neither_side_counts(loss: Callable[[Batch], dict[str, torch.Tensor]]) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    scribbled = Batch(source, target, PAIRS.indices)
    assert_close(loss(scribbled), loss(PAIRS), atol=1e-10, rtol=0)


def test_a_decoder_and_a_lattice_are_weighed() -> None:
    model = beside_a_decoder()
    paths, tokens, both = (
        objective(model, PAIRS, 1).total
        for objective in (
            CTCLoss(GIVEN),
            REGISTRY[Objective]["cross-entropy"](GIVEN),
            JointCTCLoss(GIVEN, ctc_weight=0.3),
        )
    )
    assert_close(both, 0.3 * paths + 0.7 * tokens)
