"""Dropout from random bytes."""

import pytest
import torch
from torch.testing import assert_close

from weft.nn.dropout import BYTE_LEVELS, Dropout


def apply_dropout(rate: float, x: torch.Tensor, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    y = Dropout(rate).train()(x)
    assert isinstance(y, torch.Tensor)
    return y


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_elements_are_zeroed_or_scaled_up(kind: torch.dtype) -> None:
    rate = 64 / BYTE_LEVELS
    y = apply_dropout(rate, torch.ones(100, 103, dtype=kind))
    assert y.dtype == kind
    assert set(y.flatten().tolist()) == {0.0, torch.tensor(1 / (1 - rate), dtype=kind).item()}
    assert (y == 0).double().mean().item() == pytest.approx(rate, abs=0.02)


def test_gradient_passes_through_the_remaining_elements() -> None:
    x = torch.randn(7, 5, 3, dtype=torch.float64).transpose(0, 2).requires_grad_()
    y = apply_dropout(0.5, x)
    slope = torch.randn_like(y)
    (found,) = torch.autograd.grad(y, x, slope)
    assert torch.equal(found, torch.where(y == 0, 0.0, 2 * slope))


def test_backward_saves_one_byte_per_element() -> None:
    saved: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):  # type: ignore[func-returns-value]
        apply_dropout(0.3, torch.ones(10, 9, requires_grad=True))
    assert [(tensor.dtype, tensor.shape) for tensor in saved] == [(torch.uint8, (10, 9))]


def test_result_is_determined_by_the_seed() -> None:
    x = torch.ones(50, 7)
    assert torch.equal(apply_dropout(0.3, x), apply_dropout(0.3, x))
    assert not torch.equal(apply_dropout(0.3, x), apply_dropout(0.3, x, seed=2))


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.999])
def test_rates_below_the_resolution_of_a_byte(rate: float) -> None:
    share = (apply_dropout(rate, torch.ones(200, 200)) == 0).double().mean().item()
    assert share == pytest.approx(rate, abs=0.002)


def test_evaluation_mode_returns_the_input() -> None:
    x = torch.randn(4, 4)
    assert Dropout(0.9).eval()(x) is x


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_zeroes_the_rate_and_preserves_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    y = Dropout(rate)(torch.ones(1000, 300))
    assert abs(float((y == 0).float().mean()) - rate) < 0.004
    assert abs(float(y.mean()) - 1) < 0.005


def test_dropout_is_independent_per_element() -> None:
    torch.manual_seed(0)
    remaining = (Dropout(0.5)(torch.ones(4000, 64)) > 0).float()
    joint = remaining.T @ remaining / len(remaining)  # share of rows in which both columns remain
    assert float((joint - 0.25).fill_diagonal_(0).abs().max()) < 0.05


def test_dropout_is_absent_in_evaluation_and_at_rate_zero() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_follows_the_seed() -> None:
    x = torch.ones(7, 9)
    torch.manual_seed(5)
    first = Dropout(0.5)(x)
    torch.manual_seed(5)
    assert_close(Dropout(0.5)(x), first)
    assert not torch.equal(Dropout(0.5)(x), first)


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_dropout_with_extreme_rates(rate: float) -> None:
    torch.manual_seed(0)
    dropped = float((Dropout(rate)(torch.ones(1000, 1000)) == 0).float().mean())
    assert dropped == pytest.approx(rate, abs=2e-4)
