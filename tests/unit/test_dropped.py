"""Dropout from random bytes."""

import pytest
import torch

from weft.nn.dropout import BYTE_LEVELS, Dropout


def dropped(rate: float, x: torch.Tensor, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    made = Dropout(rate).train()(x)
    assert isinstance(made, torch.Tensor)
    return made


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_an_element_is_dropped_or_scaled_up(kind: torch.dtype) -> None:
    rate = 64 / BYTE_LEVELS
    y = dropped(rate, torch.ones(100, 103, dtype=kind))
    assert y.dtype == kind
    assert set(y.flatten().tolist()) == {0.0, torch.tensor(1 / (1 - rate), dtype=kind).item()}
    assert (y == 0).double().mean().item() == pytest.approx(rate, abs=0.02)


def test_the_gradient_goes_through_what_was_kept() -> None:
    x = torch.randn(7, 5, 3, dtype=torch.float64).transpose(0, 2).requires_grad_()
    y = dropped(0.5, x)
    slope = torch.randn_like(y)
    (found,) = torch.autograd.grad(y, x, slope)
    assert torch.equal(found, torch.where(y == 0, 0.0, 2 * slope))


def test_a_byte_an_element_is_kept() -> None:
    kept: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one) or one, lambda one: one):  # type: ignore[func-returns-value]
        dropped(0.3, torch.ones(10, 9, requires_grad=True))
    assert [(one.dtype, one.shape) for one in kept] == [(torch.uint8, (10, 9))]


def test_draws_are_those_of_the_seed() -> None:
    x = torch.ones(50, 7)
    assert torch.equal(dropped(0.3, x), dropped(0.3, x))
    assert not torch.equal(dropped(0.3, x), dropped(0.3, x, seed=2))


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.999])
def test_rates_that_bytes_cannot_tell(rate: float) -> None:
    share = (dropped(rate, torch.ones(200, 200)) == 0).double().mean().item()
    assert share == pytest.approx(rate, abs=0.002)


def test_nothing_is_dropped_when_it_counts() -> None:
    x = torch.randn(4, 4)
    assert Dropout(0.9).eval()(x) is x
