"""Every model and objective can be trained in numbers of 16 bits: the loss and its gradients are about the same."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from laws.given import GIVEN
from laws.test_objectives import OBJECTIVES
from laws.variants import FRAME_HEADS, MODELS, batch, plain_first
from weft.checkpoints.trained_model import model_weights
from weft.data.batches import Batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.frame_losses import CTCLoss, PositionCrossEntropyLoss
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.training.distributed import CPU_RANK
from weft.training.mixed_precision import MixedPrecisionStrategy
from weft.training.strategy import TrainingStrategy

PAIRS = batch((6, 3), (4, 4), (7, 2))


def trained(spread: TrainingStrategy, pairs: Batch) -> tuple[Loss, list[Tensor]]:
    """The loss, and the gradients of the masters."""
    torch.manual_seed(1)
    loss = spread.backward(pairs, 1, last=True, scale=1.0)
    return loss, [one.grad.to_dense() for one in spread.model.parameters() if one.grad is not None]


def spoil_freed_memory() -> None:
    """So that a kernel which reads what nobody wrote is seen: some do, in 16 bits."""
    junk = [torch.full((2**power,), float("nan")) for power in range(4, 19) for _ in range(3)]
    del junk


def compare(model: Model, objective: Objective) -> None:
    model = model.float().eval()
    wanted, slopes = trained(TrainingStrategy(CPU_RANK, model, objective), PAIRS)
    model.zero_grad()
    spoil_freed_memory()
    found, rounded = trained(
        MixedPrecisionStrategy(CPU_RANK, model, objective, torch.bfloat16, TrainingStrategy), PAIRS
    )
    assert found.total.dtype == found.count.dtype == torch.float32
    assert found.count == wanted.count
    assert abs(found.total - wanted.total) <= 0.03 * abs(wanted.total) + 0.1
    assert all(one.dtype == torch.float32 for one in rounded)
    norm = nn.utils.get_total_norm(slopes)
    off = nn.utils.get_total_norm([one - other for one, other in zip(rounded, slopes, strict=True)])
    assert off <= 0.6 * norm  # ReLU and maxout go another way where two numbers were close


@pytest.mark.parametrize("name", plain_first(MODELS))
def test_models_compute_about_the_same_in_bfloat16(name: str) -> None:
    compare(MODELS[name](), CrossEntropyLoss(GIVEN))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_say_about_the_same_in_bfloat16(name: str) -> None:
    compare(MODELS["decoder-luong"](), OBJECTIVES[name](GIVEN))


@pytest.mark.parametrize("name", FRAME_HEADS)
def test_lattices_say_about_the_same_in_bfloat16(name: str) -> None:
    model = FRAME_HEADS[name]()
    blank = model.frame_head is not None and model.frame_head.blank
    compare(model, partial(CTCLoss if blank else PositionCrossEntropyLoss)(GIVEN))


def test_what_a_model_keeps_without_learning_it_is_rounded_in_too() -> None:
    """A start or a checkpoint fills the masters alone, also with matrices that were drawn."""
    model = MODELS["decoder-luong"]()
    model.register_buffer("drawn", torch.zeros(3))
    masters = MixedPrecisionStrategy(
        CPU_RANK, model.float().eval(), CrossEntropyLoss(GIVEN), torch.bfloat16, TrainingStrategy
    )
    model_weights(model)["drawn"].fill_(2.0)
    trained(masters, PAIRS)
    assert dict(masters.compute_model.named_buffers())["drawn"].tolist() == [2.0] * 3
