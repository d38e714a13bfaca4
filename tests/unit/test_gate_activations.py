"""Gate activations over a sentence and their figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from laws.variants import Variant, variants
from unit.translators import SENTENCE, untrained_translator
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.tracing import trace_tensors
from weft.inference.translator import Translator
from weft.nn.cells.cell import RecurrentCell, zero_states
from weft.visualize.gate_activations import (
    GATE_NAMES,
    GateActivations,
    draw_gates,
    gate_activations,
    mean_heatmap,
    select_gates,
    unit_heatmap,
)
from weft.visualize.translation_trace import CELL_STATE, HIDDEN_STATE, RECURRENCE, trace_translation

LABELS = ("▁the", "▁red", "▁cat", "▁sees", "▁a", "▁dog", "<end>")


@pytest.fixture(scope="module")
def bahdanau() -> Translator:
    return untrained_translator("bahdanau")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def reset_and_update(cell: Any, inputs: Any) -> Any:
    """Return the gates [T,2 D] of a GRU with reset before the product, computed in numpy."""
    weights = {name: value.double().numpy() for name, value in cell.state_dict().items()}
    dim = cell.dim
    h, found = np.zeros(dim), []
    for projected in inputs @ weights["inputs.input.weight"].T + weights["inputs.input.bias"]:
        both = sigmoid(projected[: 2 * dim] + weights["gates.matrix.weight"] @ h)
        reset, update = both[:dim], both[dim:]
        new = np.tanh(projected[2 * dim :] + weights["candidate.matrix.weight"] @ (reset * h))
        h = update * h + (1 - update) * new
        found.append(both)
    return np.array(found)


def test_gates_follow_the_equations_in_sentence_order(bahdanau: Translator) -> None:
    trained = bahdanau.trained
    source = torch.tensor([[*trained.target_tokenizer.encode([SENTENCE])[0], EOS]])
    with torch.inference_mode():
        inputs = trained.model.source(source, torch.zeros(1, dtype=torch.long))[0].double().numpy()
    forward, backward = trained.model.encoder.layers[0].cells  # type: ignore[attr-defined]
    found = {gate.path: gate for gate in gate_activations(bahdanau, SENTENCE)}
    dim = forward.dim
    for module, expected in (
        ("encoder.0.forward", reset_and_update(forward, inputs)),
        ("encoder.0.backward", reset_and_update(backward, inputs[::-1])[::-1]),
    ):
        np.testing.assert_allclose(found[f"{module}.reset"].values, expected[:, :dim], atol=1e-6)
        np.testing.assert_allclose(found[f"{module}.update"].values, expected[:, dim:], atol=1e-6)


def test_gates_are_labeled_with_the_tokens_read(bahdanau: Translator) -> None:
    _, example = trace_translation(bahdanau, SENTENCE)
    target_tokens = bahdanau.trained.target_tokenizer.tokens(example.target)
    by_module = {gate.module: gate for gate in gate_activations(bahdanau, SENTENCE)}
    assert list(by_module) == ["encoder.0.forward", "encoder.0.backward", "decoder"]
    assert by_module["encoder.0.forward"].labels == by_module["encoder.0.backward"].labels == LABELS
    assert by_module["decoder"].labels[0] == "<begin>"
    assert len(by_module["decoder"].labels) == len(target_tokens)
    assert by_module["decoder"].values.shape == (len(target_tokens), 16)


def test_gates_of_an_lstm_with_zero_weights_follow_the_biases() -> None:
    translator = untrained_translator("bahdanau", encoder={"cell": {"type": "lstm", "dim": 3}, "directions": "forward"})
    [lstm] = translator.trained.model.encoder.layers[0].cells  # type: ignore[attr-defined]
    torch.nn.init.zeros_(lstm.inputs.input.weight)
    torch.nn.init.zeros_(lstm.recurrence.matrix.weight)
    with torch.no_grad():
        lstm.inputs.input.bias.copy_(torch.tensor([0.0, 1.0, 5.0, -1.0]).repeat_interleave(3))  # i, f, g, o
    found = {
        gate.name: gate.values for gate in gate_activations(translator, "cat") if gate.module == "encoder.0.forward"
    }
    for name, value in (("input", 0.5), ("forget", 0.731059), ("output", 0.268941)):
        np.testing.assert_allclose(found.pop(name), value, atol=1e-6)
    assert found == {}


@pytest.mark.parametrize("variant", list(variants(RecurrentCell)), ids=lambda variant: variant.name)
def test_all_traced_tensors_of_a_cell_have_known_names(variant: Variant) -> None:
    cell = variant.make(4, 0).eval()
    x = Padded(torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool))
    with torch.inference_mode(), trace_tensors() as traced:
        cell.run(x, cell.start(zero_states(cell, x.data)))
    names = {name.split(".")[-1] for name in traced}
    assert {HIDDEN_STATE, RECURRENCE} <= names <= {HIDDEN_STATE, CELL_STATE, RECURRENCE, *GATE_NAMES}


def make_gates(*paths: str) -> list[GateActivations]:
    """Gates of two tokens and three units."""
    values = np.array([[0.0, 0.2, 0.4], [0.3, 0.6, 0.9]])
    return [GateActivations(*path.rpartition(".")[::2], ("a", "b"), values) for path in paths]


GATES = make_gates("encoder.0.forward.forget", "encoder.10.forward.forget", "decoder.0.input", "decoder.0.forget")


@pytest.mark.parametrize(
    ("side", "module", "expected"),
    [
        (None, None, GATES[:2]),
        ("decoder", None, GATES[2:]),
        (None, "decoder", GATES[2:]),
        (None, "encoder.0", GATES[:1]),
        ("decoder", "decoder.0", GATES[2:]),
        (None, "decoder.0.input", GATES[2:3]),
    ],
)
def test_gates_are_selected_by_side_and_module(side: Any, module: str | None, expected: list[GateActivations]) -> None:
    assert [gate.path for gate in select_gates(GATES, side, module)] == [gate.path for gate in expected]


def test_decoder_gates_are_selected_if_the_encoder_has_none() -> None:
    assert [gate.path for gate in select_gates(GATES[2:], None, None)] == ["decoder.0.input", "decoder.0.forget"]


@pytest.mark.parametrize(
    ("side", "module", "message"),
    [
        (
            None,
            "encoder.1",
            r"no gates at encoder\.1: this model has gates at encoder\.0\.forward, encoder\.10\.forward",
        ),
        ("encoder", "decoder.0", r"no gates at decoder\.0 in encoder"),
        (None, "encoder.0.forward.forge", r"no gates at encoder\.0\.forward\.forge:"),
    ],
)
def test_unknown_module_is_reported(side: Any, module: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        select_gates(GATES, side, module)


def test_heatmap_rows_are_unit_means_or_single_units(bahdanau: Translator) -> None:
    _, example = trace_translation(bahdanau, SENTENCE)
    means = mean_heatmap(example, GATES[:2])
    np.testing.assert_allclose(means.values, [[0.2, 0.6], [0.2, 0.6]])
    assert means.rows == ("encoder.0.forward.forget", "encoder.10.forward.forget")
    units = unit_heatmap(example, GATES[2])
    np.testing.assert_allclose(units.values, [[0.0, 0.3], [0.2, 0.6], [0.4, 0.9]])
    assert units.rows == ("unit 0", "unit 1", "unit 2")
    assert units.remarks == ("decoder.0.input",)
    assert means.columns == units.columns == ("a", "b")
    assert means.max_value == units.max_value == 1.0


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_figure_is_written(suffix: str, begin: bytes, bahdanau: Translator, tmp_path: Path) -> None:
    shown = draw_gates(bahdanau, SENTENCE, tmp_path / f"gates{suffix}")
    assert [gate.path for gate in shown] == [
        f"encoder.0.{cell}" for cell in ("forward.reset", "forward.update", "backward.reset", "backward.update")
    ]
    assert (tmp_path / f"gates{suffix}").read_bytes().startswith(begin)


def test_figure_has_a_row_per_unit(bahdanau: Translator, tmp_path: Path) -> None:
    [only] = draw_gates(bahdanau, SENTENCE, tmp_path / "gates.svg", module="decoder.reset", rows="units")
    assert only.path == "decoder.reset"
    assert (tmp_path / "gates.svg").read_text("utf-8").count("<!-- unit ") == 16


@pytest.mark.parametrize(
    ("sentence", "name", "module", "message"),
    [
        ("a", "gates.jpg", "decoder.reset", r"\.png, \.svg or \.pdf"),
        (" ", "gates.png", "decoder.reset", "the sentence is empty"),
        ("a", "gates.png", "decoder", r"--units shows one gate: .* decoder\.reset, decoder\.update"),
        ("a", "gates.png", None, r"--units shows one gate: .* encoder\.0\.forward\.reset"),
    ],
)
def test_error_leaves_no_file(
    sentence: str, name: str, module: str | None, message: str, bahdanau: Translator, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        draw_gates(bahdanau, sentence, tmp_path / name, module=module, rows="units")
    assert list(tmp_path.iterdir()) == []


def test_models_without_cells_or_gates_are_refused() -> None:
    with pytest.raises(UserError, match="no recurrent cells"):
        gate_activations(untrained_translator("transformer"), SENTENCE)
    plain = {"cell": {"type": "elman", "dim": 4}}
    with pytest.raises(UserError, match="have no gates; use weft inspect gradients"):
        gate_activations(untrained_translator("bahdanau", encoder=plain, decoder=plain), SENTENCE)
