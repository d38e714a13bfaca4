"""Every model and objective trains in bfloat16: loss and gradients are close to those in float32."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.test_objectives import OBJECTIVES
from laws.variants import FRAME_HEADS, MODELS, batch, mark_changed_slow
from weft.checkpoints.trained_model import model_weights
from weft.data.batches import Batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.frame_losses import CTCLoss, PositionCrossEntropyLoss
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.training.distributed import CPU_RANK
from weft.training.mixed_precision import MixedPrecisionStrategy
from weft.training.parallel_strategy import TrainingStrategy

PAIRS = batch((6, 3), (4, 4), (7, 2))


def loss_and_gradients(strategy: TrainingStrategy, pairs: Batch) -> tuple[Loss, list[Tensor]]:
    """Return the loss and the gradients of the float32 master weights."""
    torch.manual_seed(1)
    loss = strategy.backward(pairs, 1, last=True, scale=1.0)
    return loss, [weight.grad.to_dense() for weight in strategy.model.parameters() if weight.grad is not None]


def fill_freed_memory_with_nan() -> None:
    """Fill freed memory with NaN to detect kernels that read uninitialized memory; some do in 16 bits."""
    junk = [torch.full((2**power,), float("nan")) for power in range(4, 19) for _ in range(3)]
    del junk


def assert_close_in_bfloat16(model: Model, objective: Objective) -> None:
    model = model.float().eval()
    expected, gradients = loss_and_gradients(TrainingStrategy(CPU_RANK, model, objective), PAIRS)
    model.zero_grad()
    fill_freed_memory_with_nan()
    actual, bfloat16_gradients = loss_and_gradients(
        MixedPrecisionStrategy(CPU_RANK, model, objective, torch.bfloat16, TrainingStrategy), PAIRS
    )
    assert actual.total.dtype == actual.count.dtype == torch.float32
    assert actual.count == expected.count
    assert abs(actual.total - expected.total) <= 0.03 * abs(expected.total) + 0.1
    assert all(gradient.dtype == torch.float32 for gradient in bfloat16_gradients)
    norm = nn.utils.get_total_norm(gradients)
    error = nn.utils.get_total_norm([mine - other for mine, other in zip(bfloat16_gradients, gradients, strict=True)])
    assert error <= 0.6 * norm  # ReLU and maxout switch where two values were close


@pytest.mark.parametrize("name", mark_changed_slow(MODELS))
def test_models_in_bfloat16_are_close_to_float32(name: str) -> None:
    assert_close_in_bfloat16(MODELS[name](), CrossEntropyLoss(OBJECTIVE_CONTEXT))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_in_bfloat16_are_close_to_float32(name: str) -> None:
    assert_close_in_bfloat16(MODELS["decoder-luong"](), OBJECTIVES[name](OBJECTIVE_CONTEXT))


@pytest.mark.parametrize("name", FRAME_HEADS)
def test_frame_heads_in_bfloat16_are_close_to_float32(name: str) -> None:
    model = FRAME_HEADS[name]()
    blank = model.frame_head is not None and model.frame_head.blank
    assert_close_in_bfloat16(model, partial(CTCLoss if blank else PositionCrossEntropyLoss)(OBJECTIVE_CONTEXT))


def test_buffers_are_copied_to_compute_model() -> None:
    """A warm start or a checkpoint sets only the master copy, including random buffers."""
    model = MODELS["decoder-luong"]()
    model.register_buffer("drawn", torch.zeros(3))
    strategy = MixedPrecisionStrategy(
        CPU_RANK, model.float().eval(), CrossEntropyLoss(OBJECTIVE_CONTEXT), torch.bfloat16, TrainingStrategy
    )
    model_weights(model)["drawn"].fill_(2.0)
    loss_and_gradients(strategy, PAIRS)
    assert dict(strategy.compute_model.named_buffers())["drawn"].tolist() == [2.0] * 3
