"""The benchmark of layers: fitted powers, and the layers compute what they are named after."""

import pytest
import torch
from benchmarks.layer_complexity.layer_kinds import KERNEL, KINDS, WINDOW, Kind, Powers
from benchmarks.layer_complexity.tables import fit, fit_regions
from benchmarks.layer_complexity.timing import Size, forward_and_backward
from torch import Tensor, nn
from torch.testing import assert_close

SIZES = [Size(length, width) for length in (16, 64, 256, 1024) for width in (16, 64, 256)]


@pytest.mark.parametrize("powers", [Powers(2, 1), Powers(1, 1), Powers(1, 2), Powers(0.5, 1.5)])
def test_fit_recovers_known_powers(powers: Powers) -> None:
    found = fit({size: 1e-9 * size.length**powers.length * size.width**powers.width for size in SIZES})
    assert found == pytest.approx(powers)


def test_fit_needs_several_widths() -> None:
    assert fit({Size(length, 64): float(length) for length in (16, 32, 64, 128)}) is None
    assert fit({}) is None


def test_regions_differ_from_the_fit_over_all_sizes() -> None:
    """4 n d² + 2 n² d, the products of self-attention: d² dominates for short sequences, n² for long ones."""
    regions = fit_regions({Size(n, d): 4 * n * d**2 + 2 * n**2 * d for n, d in SIZES})
    assert regions["n ≤ d"] == pytest.approx(Powers(1.1, 1.9), abs=0.15)
    assert regions["n ≥ 4 d"] == pytest.approx(Powers(1.9, 1.1), abs=0.15)
    both = regions["all sizes"]
    assert both is not None
    assert 1.2 < both.length < 1.8


# --- Layers ----------------------------------------------------------------------------------------------------------


def make_layer(name: str) -> nn.Module:
    torch.manual_seed(1)
    return next(kind.make(8) for kind in KINDS if kind.name == name).eval()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_layer_preserves_the_shape_and_leaves_no_gradient(kind: Kind) -> None:
    layer, x = kind.make(8).eval(), torch.randn(2, 40, 8)
    assert layer(x).shape == x.shape
    forward_and_backward(layer, x)
    assert [weight.grad for weight in layer.parameters() if weight.grad is not None] == []


def test_both_lstm_implementations_agree() -> None:
    x = torch.randn(2, 9, 8)
    assert_close(make_layer("LSTM, torch's kernel")(x), make_layer("LSTM, our own loop")(x))


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("self-attention", 99),
        ("restricted self-attention", WINDOW),
        ("LSTM, torch's kernel", 0),
        ("LSTM, our own loop", 0),
        ("convolution", KERNEL // 2),
    ],
)
def test_receptive_field_of_the_first_position(name: str, last: int) -> None:
    x = torch.randn(1, 100, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(make_layer(name)(x)[0, 0].sum(), x)
    assert last_nonzero(gradient[0]) == last


def last_nonzero(gradient: Tensor) -> int:
    """Return the last position with a nonzero gradient."""
    return int(gradient.abs().sum(-1).nonzero().max())
