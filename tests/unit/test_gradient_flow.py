"""Gradient flow through time and its figure."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from unit.translators import SENTENCE, untrained_translator
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import State
from weft.core.tracing import trace_tensors
from weft.inference.translator import Translator
from weft.nn.cells.cell import zero_states
from weft.nn.cells.elman import ElmanCell
from weft.visualize.figures import save_figure
from weft.visualize.gradient_flow import (
    GradientFlow,
    axis_limits,
    cell_gradient_flow,
    draw_gradient_flows,
    draw_gradients,
    gradient_flows,
)
from weft.visualize.translation_trace import CellTrace, group_by_module, trace_translation

STEP = 1e-6  # of central differences


def jacobian_norm(function: Callable[[Tensor], Tensor], at: Tensor) -> float:
    """Return the largest singular value of the Jacobian at `at` by central differences; both [1,D]."""
    shifts = STEP * torch.eye(at.shape[1], dtype=at.dtype)
    columns = [(function(at + shift) - function(at - shift))[0] / (2 * STEP) for shift in shifts]
    return float(torch.linalg.matrix_norm(torch.stack(columns, 1), ord=2))


def in_float64(translator: Translator) -> Translator:
    translator.trained.model.double()
    return translator


def embedded(translator: Translator) -> Padded:
    source = trace_translation(translator, SENTENCE)[1].source
    return source.with_data(translator.trained.model.source(source.data, torch.zeros(1, dtype=torch.long)))


def sliced(x: Padded, first: int, end: int) -> Padded:
    return Padded(x.data[:, first:end], x.mask[:, first:end])


@torch.no_grad()
def differences(cell: Any, x: Padded) -> list[list[float]]:
    """Return the slope of each final state with respect to the same state after step t, for t = 0 ... T-2.

    h_t = o_t tanh(c_t), so changing c_t also changes h_t.
    """
    found: list[list[float]] = [[] for _ in cell.state_dims]
    for step in range(1, x.data.shape[1]):
        _, states = cell.run(sliced(x, 0, step), zero_states(cell, x.data))
        rest = sliced(x, step, x.data.shape[1])
        h, *others = states
        found[0].append(jacobian_norm(lambda h: cell.run(rest, (h, *others))[1][0], h))  # noqa: B023 (called at once)
        for c in others:
            out = h / torch.tanh(c)
            found[1].append(jacobian_norm(lambda c: cell.run(rest, (out * torch.tanh(c), c))[1][1], c))  # noqa: B023
    return found


@pytest.mark.parametrize("kind", ["elman", "gru", "lstm"])
def test_encoder_flow_equals_finite_differences(kind: str) -> None:
    translator = in_float64(untrained_translator("bahdanau", encoder={"cell": {"type": kind, "dim": 3}}))
    forward, backward = translator.trained.model.encoder.layers[0].cells  # type: ignore[attr-defined]
    x = embedded(translator)
    flows = {flow.module: flow for flow in gradient_flows(translator, SENTENCE)}
    for direction, cell, inputs in (("forward", forward, x), ("backward", backward, x.reverse())):
        found = flows[f"encoder.0.{direction}"]
        for norms, expected in zip([found.hidden, *cell_norms(found)], differences(cell, inputs), strict=True):
            in_order = [*expected, 1.0] if direction == "forward" else [1.0, *expected[::-1]]
            np.testing.assert_allclose(norms, in_order, rtol=1e-5, atol=1e-8)


def cell_norms(flow: GradientFlow) -> list[Any]:
    return [] if flow.cell is None else [flow.cell]


@torch.no_grad()
def test_decoder_flow_includes_all_paths_through_time() -> None:
    translator = in_float64(untrained_translator("bahdanau", decoder={"cell": {"type": "gru", "dim": 3}}))
    (_, example), model = trace_translation(translator, SENTENCE), translator.trained.model
    fed = torch.tensor([[1, *example.target[:-1]]])
    x = model.target(fed, torch.zeros(1, dtype=torch.long))
    state = model.decoder.start(model.encode(example.source))
    expected = []
    for step in range(1, x.shape[1]):
        _, between = model.decoder(x[:, :step], state)

        def last(h: Tensor, rest: Tensor = x[:, step:], before: State = between) -> Tensor:
            _, after = model.decoder(rest, State(before.memory, ((h,), h, ())))  # h is also the attention query
            return after.carry[1]  # type: ignore[return-value]

        expected.append(jacobian_norm(last, between.carry[1]))  # type: ignore[arg-type]
    [found] = [flow for flow in gradient_flows(translator, SENTENCE) if flow.module == "decoder"]
    assert found.labels[0] == "<begin>"
    np.testing.assert_allclose(found.hidden, [*expected, 1.0], rtol=1e-5, atol=1e-8)


def flow_through(cell: ElmanCell, x: Tensor) -> GradientFlow:
    """Return the gradient flow of a cell over the inputs [1,T,D]."""
    with trace_tensors() as traced:
        cell.run(Padded.unpadded(x), cell.start(zero_states(cell, x)))
    return cell_gradient_flow(CellTrace("encoder.0.forward", ("x",) * x.shape[1], group_by_module(traced)[""]))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(0.01, 5),
    steps=st.integers(1, 8),
    orthogonal=st.booleans(),
)
def test_elman_cell_never_exceeds_its_bound(seed: int, size: float, steps: int, orthogonal: bool) -> None:
    torch.manual_seed(seed)
    cell = ElmanCell(2, 0, dim=3, orthogonal=orthogonal).double()
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter, std=size)
    found = flow_through(cell, torch.randn(1, steps, 2, dtype=torch.float64))
    assert (found.hidden <= found.bound * (1 + 1e-9)).all()
    assert found.hidden[-1] == found.bound[-1] == 1


def test_elman_cell_with_zero_input_multiplies_by_its_matrix() -> None:
    cell = ElmanCell(2, 0, dim=2).double()
    torch.nn.init.zeros_(cell.inputs.input.bias)
    with torch.no_grad():
        cell.recurrence.matrix.weight.copy_(torch.tensor([[0.0, 2.0], [0.5, 0.0]]))
    found = flow_through(cell, torch.zeros(1, 4, 2, dtype=torch.float64))
    np.testing.assert_allclose(found.hidden, [2.0, 1.0, 2.0, 1.0])  # norms of the powers 3 ... 0 of the matrix
    np.testing.assert_allclose(found.bound, [8.0, 4.0, 2.0, 1.0])
    assert found.factor == pytest.approx(2.0)
    assert found.cell is None


@pytest.mark.parametrize(("kind", "blocks"), [("elman", 1), ("gru", 3), ("lstm", 4)])
def test_bound_uses_the_whole_recurrent_matrix(kind: str, blocks: int) -> None:
    translator = untrained_translator("bahdanau", encoder={"cell": {"type": kind, "dim": 4, "orthogonal": True}})
    forward, backward, _ = gradient_flows(translator, SENTENCE)
    assert forward.factor == pytest.approx(blocks**0.5, rel=1e-5)  # that many stacked orthogonal blocks
    np.testing.assert_allclose(forward.bound, forward.factor ** np.arange(6.0, -1, -1))
    np.testing.assert_allclose(backward.bound, forward.bound[::-1], rtol=1e-4)


def test_flows_are_in_order_and_leave_no_gradients() -> None:
    translator = untrained_translator("bahdanau", encoder={"layers": 2, "cell": {"type": "lstm", "dim": 3}})
    with torch.no_grad():
        flows = gradient_flows(translator, SENTENCE)
    assert [flow.module for flow in flows] == [
        *(f"encoder.{layer}.{direction}" for layer in (0, 1) for direction in ("forward", "backward")),
        "decoder",
    ]
    assert [flow.cell is None for flow in flows] == [False, False, False, False, True]
    assert flows[0].labels == ("▁the", "▁red", "▁cat", "▁sees", "▁a", "▁dog", "<end>")
    assert all(parameter.grad is None for parameter in translator.trained.model.parameters())


def test_figure_has_a_panel_per_side_and_a_legend(tmp_path: Path) -> None:
    translator = untrained_translator("bahdanau", encoder={"cell": {"type": "lstm", "dim": 3}})
    flows = draw_gradients(translator, SENTENCE, tmp_path / "gradients.svg")
    text = (tmp_path / "gradients.svg").read_text("utf-8")
    assert len(flows) == 3
    for module in ("encoder.0.forward", "encoder.0.backward", "decoder"):
        assert f"<!-- {module}, s = " in text
    for side in ("encoder", "decoder"):
        assert f"<!-- input of the {side} at step t -->" in text
    draw_gradients(translator, SENTENCE, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text("utf-8") == text


def make_flow(norms: list[float], bounds: list[float]) -> GradientFlow:
    return GradientFlow("encoder.0.forward", ("$a$", "b"), np.array(norms), None, np.array(bounds), 1.0)


@pytest.mark.parametrize(
    ("norms", "bounds", "expected"),
    [
        ([0.2, 1.0], [1.0, 1.0], (0.1, 10)),
        ([0.2, 1.0], [400.0, 1.0], (0.1, 1000)),
        ([0.2, 1.0], [np.inf, 1e9], (0.1, 10)),
        ([0.2, 1.0], [1e-9, 0.004], (0.001, 10)),
        ([0.0, 1.0], [0.0, 1.0], (0.1, 10)),
    ],
)
def test_axis_ignores_bounds_far_from_the_norms(
    norms: list[float], bounds: list[float], expected: tuple[float, float]
) -> None:
    assert axis_limits([make_flow(norms, bounds)]) == pytest.approx(expected)


def test_panel_is_logarithmic_and_labels_are_not_parsed_as_math() -> None:
    [axes] = draw_gradient_flows([make_flow([0.2, 1.0], [1.0, 1.0])], ["costs $5$"], ["cut"]).axes
    assert axes.get_yscale() == "log"
    assert not axes.get_xticklabels()[0].get_parse_math()
    title = axes.figure.get_suptitle()
    assert title == "costs $5$\ncut"


def test_title_is_not_parsed_as_math(tmp_path: Path) -> None:
    draw = partial(draw_gradient_flows, [make_flow([0.2, 1.0], [1.0, 1.0])], ["a $\\frac{$ b"], [])
    save_figure(draw, tmp_path / "gradients.svg")
    assert "frac" in (tmp_path / "gradients.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("sentence", "name", "message"),
    [("a", "gradients.jpg", r"\.png, \.svg or \.pdf"), ("", "gradients.png", "the sentence is empty")],
)
def test_error_leaves_no_file(sentence: str, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        draw_gradients(untrained_translator("bahdanau"), sentence, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_model_without_recurrent_cells_is_refused() -> None:
    with pytest.raises(UserError, match="no recurrent cells"):
        gradient_flows(untrained_translator("transformer"), SENTENCE)
