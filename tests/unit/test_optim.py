"""Learning rate schedules, optimizers and weight averages."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.optim.optimizers import SGD, Adadelta, Adam, AdamW, Optimizer
from weft.optim.schedules import (
    CosineSchedule,
    HalvingSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
    WarmupStableDecaySchedule,
)
from weft.optim.weight_averages import ExponentialAverage, SnapshotAverage, WeightAverage


def test_schedules_at_known_steps() -> None:
    inverse = InverseSquareRootSchedule(1000, learning_rate=2.0, warmup_steps=100)
    assert [inverse(step) for step in (50, 100, 400)] == pytest.approx([1.0, 2.0, 1.0])
    cosine = CosineSchedule(1100, learning_rate=2.0, warmup_steps=100, min_lr_ratio=0.1)
    assert [cosine(step) for step in (50, 100, 600, 1100)] == pytest.approx([1.0, 2.0, 1.1, 0.2])
    linear = LinearSchedule(1100, learning_rate=2.0, warmup_steps=100)
    assert [linear(step) for step in (50, 100, 600, 1100)] == pytest.approx([1.0, 2.0, 1.0, 0.0])
    stable = WarmupStableDecaySchedule(1000, learning_rate=2.0, warmup_steps=100, decay_ratio=0.4, min_lr_ratio=0.25)
    assert [stable(step) for step in (50, 100, 600, 700, 800, 1000)] == pytest.approx([1.0, 2.0, 2.0, 1.5, 1.0, 0.5])


def test_halving_schedule_is_constant_then_halves() -> None:
    schedule = HalvingSchedule(1000, learning_rate=0.8, start_decay_steps=10, decay_steps=5)
    assert [schedule(step) for step in (1, 10, 11, 15, 16)] == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.2])


def test_sgd_with_momentum_and_adadelta_follow_their_equations() -> None:
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer: Optimizer = SGD([weight], momentum=0.5)
    for _ in range(2):
        weight.grad = torch.tensor([1.0, 2.0])
        optimizer.step(0.1)
    assert_close(weight.detach(), torch.tensor([1.0 - 0.1 - 0.15, -2.0 - 0.2 - 0.3]))
    weight = nn.Parameter(torch.tensor([1.0]))
    optimizer = Adadelta([weight], rho=0.9, epsilon=1e-2)
    squares = changes = 0.0
    expected = 1.0
    for gradient in (3.0, -1.0):
        weight.grad = torch.tensor([gradient])
        optimizer.step(1.0)
        squares = 0.9 * squares + 0.1 * gradient**2
        change = ((changes + 1e-2) / (squares + 1e-2)) ** 0.5 * gradient
        changes = 0.9 * changes + 0.1 * change**2
        expected -= change
    assert float(weight.detach()) == pytest.approx(expected)


@pytest.mark.parametrize(
    "schedule", [CosineSchedule, LinearSchedule, WarmupStableDecaySchedule, InverseSquareRootSchedule]
)
def test_without_warmup_schedules_start_at_the_peak(schedule: Callable[..., Any]) -> None:
    assert schedule(100, learning_rate=3.0, warmup_steps=0)(1) == pytest.approx(3.0, rel=0.02)


def test_weight_decay_is_coupled_in_adam_and_decoupled_in_adamw() -> None:
    def weight_after_step(optimizer_type: Callable[..., Any]) -> float:
        weight = nn.Parameter(torch.tensor([2.0]))
        optimizer = optimizer_type([weight], weight_decay=0.1)
        weight.grad = torch.tensor([1.0])
        optimizer.step(0.5)
        return float(weight.detach())

    # The first step of Adam is the learning rate, whatever the gradient.
    assert weight_after_step(Adam) == pytest.approx(2.0 - 0.5)
    assert weight_after_step(AdamW) == pytest.approx(2.0 - 0.5 - 0.5 * 0.1 * 2.0)


@pytest.mark.parametrize("optimizer_type", [SGD, partial(SGD, momentum=0.9), Adadelta, Adam, AdamW])
def test_restored_optimizer_continues_exactly(optimizer_type: Callable[..., Any]) -> None:
    def steps(weight: nn.Parameter, optimizer: Any, numbers: range) -> None:
        for number in numbers:
            weight.grad = torch.full_like(weight, number % 3 - 1.0)
            optimizer.step(0.01)

    uninterrupted = nn.Parameter(torch.ones(5))
    optimizer = optimizer_type([uninterrupted])
    steps(uninterrupted, optimizer, range(4))
    resumed = nn.Parameter(uninterrupted.detach().clone())
    restored = optimizer_type([resumed])
    restored.restore(optimizer.tensors())
    steps(uninterrupted, optimizer, range(4, 9))
    steps(resumed, restored, range(4, 9))
    assert torch.equal(uninterrupted, resumed)


def test_gradients_are_cleared_after_a_step() -> None:
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    Adam([weight]).step(0.1)
    assert weight.grad is None


def test_last_snapshots_are_averaged() -> None:
    average = SnapshotAverage(count=2, every=10)
    assert average.weights() is None
    for step, value in ((10, 1.0), (15, 100.0), (20, 2.0), (30, 4.0)):
        average.update(step, {"w": torch.tensor([value])})
    weights = average.weights()
    assert weights is not None
    assert float(weights["w"]) == 3.0


def test_reduced_snapshot_count_applies_after_restore() -> None:
    before, now = SnapshotAverage(count=3, every=1), SnapshotAverage(count=1, every=1)
    for step in (1, 2, 3):
        before.update(step, {"w": torch.tensor([float(step)])})
    now.restore(before.tensors())
    now.update(4, {"w": torch.tensor([4.0])})
    assert now.tensors().keys() == {"4/w"}


def test_exponential_average_follows_its_equation() -> None:
    average = ExponentialAverage(decay=0.5)
    expected = None
    for step, value in ((1, 1.0), (2, 2.0), (50, 5.0)):
        average.update(step, {"w": torch.tensor([value])})
        decay = min(0.5, (1 + step) / (10 + step))
        expected = value if expected is None else decay * expected + (1 - decay) * value
    weights = average.weights()
    assert weights is not None
    assert float(weights["w"]) == pytest.approx(expected)


@pytest.mark.parametrize("make", [lambda: SnapshotAverage(count=2, every=1), lambda: ExponentialAverage(decay=0.9)])
def test_averages_copy_weights_and_can_be_restored(make: Callable[[], WeightAverage]) -> None:
    average, weight = make(), torch.tensor([1.0])
    average.update(1, {"a.w": weight})
    weight += 5
    average.update(2, {"a.w": torch.tensor([3.0])})
    restored = make()
    restored.restore(average.tensors())
    for each in (average, restored):
        each.update(3, {"a.w": torch.tensor([4.0])})
    first, second = average.weights(), restored.weights()
    assert first is not None
    assert second is not None
    assert_close(first["a.w"], second["a.w"])
    assert float(first["a.w"]) < 5
