"""The benchmark of layers: fitted powers, tables and a tiny run."""

import json
from pathlib import Path

import pytest
import torch
from benchmarks.layer_complexity.layer_kinds import KERNEL, KINDS, WINDOW, Kind, Powers
from benchmarks.layer_complexity.tables import fit, fit_regions, medians, orders_table, times_table
from benchmarks.layer_complexity.timing import Pass, Size, Timer, Times, Turn, forward, forward_and_backward, measure
from benchmarks.layers import doublings, main
from benchmarks.markdown import BEGIN, END, write_page
from matplotlib.image import imread
from torch import Tensor, nn
from torch.testing import assert_close

from weft.core.errors import UserError

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


def test_doublings() -> None:
    assert doublings(16, 130) == [16, 32, 64, 128]
    assert doublings(64, 128) == [64, 128]


def published_times() -> Times:
    """Times in microseconds that follow the published orders; one round of three is an outlier."""
    return {
        Turn(kind.name, size): [
            factor * 1e-6 * size.length**kind.powers.length * size.width**kind.powers.width
            for factor in (1.0, 50.0, 0.99)
        ]
        for kind in KINDS
        for size in SIZES
    }


def test_tables_show_medians_and_powers() -> None:
    found = medians(published_times())
    orders = orders_table(KINDS, found).split("\n")
    assert len(orders) == 2 + len(KINDS) + 1
    assert orders[2].startswith("| self-attention | n² d | 1 | 1 | n^2.00 d^1.00 | n^2.00 d^1.00 |")
    assert times_table(found, 64).split("\n")[2] == "| self-attention | 16.4 | 262 | 4,194 | 67,109 |"


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


# --- Runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_pass", [forward, forward_and_backward])
def test_every_kind_is_timed_in_every_round(run_pass: Pass) -> None:
    messages: list[str] = []
    turns = [Turn(kind.name, Size(length, 8)) for kind in KINDS for length in (5, 40)]
    times = measure(Timer(KINDS, (8,), 2, run_pass), turns, 2, messages.append)
    assert list(times) == turns
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in times.values())
    assert messages == ["round 1 of 2", "round 2 of 2"]


def test_tiny_run_writes_all_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture, figures = tmp_path / "page.md", tmp_path / "layers.png", tmp_path / "layers.json"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", "utf-8")
    main(longest=32, widest=128, batch=1, rounds=1, threads=1, picture=picture, page=page, json_file=figures)
    printed = capsys.readouterr().out.removesuffix("\n")
    assert page.read_text("utf-8") == f"before\n{BEGIN}{printed}{END}after\n"
    assert "| d = 128, n = | 16 | 32 |" in printed
    assert len(json.loads(figures.read_text("utf-8"))["seconds"]) == 4 * len(KINDS)
    height, width = imread(picture).shape[:2]
    assert width > height > 300


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "there is no such file"), ("text\n", "figures go between"), (BEGIN, "figures go between")],
)
def test_page_without_figure_markers_is_reported(tmp_path: Path, text: str | None, message: str) -> None:
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text, "utf-8")
    with pytest.raises(UserError, match=message):
        write_page(page, "figures\n")
    with pytest.raises(UserError, match=message):
        main(page=page)
    with pytest.raises(UserError, match=r"\.png, \.svg or \.pdf"):
        main(picture=page)
