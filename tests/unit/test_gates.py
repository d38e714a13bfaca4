"""Gates over a sentence, and the picture of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from laws.variants import Variant, variants
from unit.untrained import SENTENCE, untrained
from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.watch import watching
from weft.engine.translator import Translator
from weft.inspect.cells import CELL, HIDDEN, RECURRENCE
from weft.inspect.gates import GATES, Gate, choose, draw, gates, means_grid, units_grid
from weft.inspect.translating import translate
from weft.nn.cells.role import Cell, zeros

LABELS = ("▁the", "▁red", "▁cat", "▁sees", "▁a", "▁dog", "<end>")


@pytest.fixture(scope="module")
def bahdanau() -> Translator:
    return untrained("bahdanau")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def reset_and_update(cell: Any, inputs: Any) -> Any:
    """The gates of a GRU with reset before the product, in numpy: [T,2 D]."""
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


def test_gates_are_those_of_the_equations_in_the_order_of_the_sentence(bahdanau: Translator) -> None:
    trained = bahdanau.trained
    source = torch.tensor([[*trained.target_tokenizer.encode([SENTENCE])[0], END]])
    with torch.inference_mode():
        inputs = trained.model.source(source, torch.zeros(1, dtype=torch.long))[0].double().numpy()
    forward, backward = trained.model.encoder.layers[0].cells  # type: ignore[attr-defined]
    found = {gate.path: gate for gate in gates(bahdanau, SENTENCE)}
    dim = forward.dim
    for place, wanted in (
        ("encoder.0.forward", reset_and_update(forward, inputs)),
        ("encoder.0.backward", reset_and_update(backward, inputs[::-1])[::-1]),
    ):
        np.testing.assert_allclose(found[f"{place}.reset"].values, wanted[:, :dim], atol=1e-6)
        np.testing.assert_allclose(found[f"{place}.update"].values, wanted[:, dim:], atol=1e-6)


def test_both_sides_have_the_pieces_that_they_read(bahdanau: Translator) -> None:
    translated = translate(bahdanau, SENTENCE)
    written = bahdanau.trained.target_tokenizer.pieces(translated.fed.target)
    by_place = {gate.place: gate for gate in gates(bahdanau, SENTENCE)}
    assert list(by_place) == ["encoder.0.forward", "encoder.0.backward", "decoder"]
    assert by_place["encoder.0.forward"].labels == by_place["encoder.0.backward"].labels == LABELS
    assert by_place["decoder"].labels[0] == "<begin>"
    assert len(by_place["decoder"].labels) == len(written)
    assert by_place["decoder"].values.shape == (len(written), 16)


def test_an_lstm_without_weights_is_as_open_as_its_biases_say() -> None:
    translator = untrained("bahdanau", encoder={"cell": {"type": "lstm", "dim": 3}, "ways": "forward"})
    [lstm] = translator.trained.model.encoder.layers[0].cells  # type: ignore[attr-defined]
    torch.nn.init.zeros_(lstm.inputs.input.weight)
    torch.nn.init.zeros_(lstm.recurrence.matrix.weight)
    with torch.no_grad():
        lstm.inputs.input.bias.copy_(torch.tensor([0.0, 1.0, 5.0, -1.0]).repeat_interleave(3))  # i, f, g, o
    found = {gate.name: gate.values for gate in gates(translator, "cat") if gate.place == "encoder.0.forward"}
    for name, value in (("input", 0.5), ("forget", 0.731059), ("output", 0.268941)):
        np.testing.assert_allclose(found.pop(name), value, atol=1e-6)
    assert found == {}


@pytest.mark.parametrize("variant", list(variants(Cell)), ids=lambda variant: variant.name)
def test_everything_that_a_cell_notes_is_known(variant: Variant) -> None:
    cell = variant.make(4, 0).eval()
    x = Padded(torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool))
    with torch.inference_mode(), watching() as seen:
        cell.run(x, cell.start(zeros(cell, x.data)))
    names = {name.split(".")[-1] for name in seen}
    assert {HIDDEN, RECURRENCE} <= names <= {HIDDEN, CELL, RECURRENCE, *GATES}


def made_up(*paths: str) -> list[Gate]:
    """Gates of two pieces and three units."""
    values = np.array([[0.0, 0.2, 0.4], [0.3, 0.6, 0.9]])
    return [Gate(*path.rpartition(".")[::2], ("a", "b"), values) for path in paths]


EVERY = made_up("encoder.0.forward.forget", "encoder.10.forward.forget", "decoder.0.input", "decoder.0.forget")


@pytest.mark.parametrize(
    ("side", "place", "wanted"),
    [
        (None, None, EVERY[:2]),
        ("decoder", None, EVERY[2:]),
        (None, "decoder", EVERY[2:]),
        (None, "encoder.0", EVERY[:1]),
        ("decoder", "decoder.0", EVERY[2:]),
        (None, "decoder.0.input", EVERY[2:3]),
    ],
)
def test_sides_and_places_choose(side: Any, place: str | None, wanted: list[Gate]) -> None:
    assert [gate.path for gate in choose(EVERY, side, place)] == [gate.path for gate in wanted]


def test_an_encoder_without_gates_leaves_the_decoders() -> None:
    assert [gate.path for gate in choose(EVERY[2:], None, None)] == ["decoder.0.input", "decoder.0.forget"]


@pytest.mark.parametrize(
    ("side", "place", "message"),
    [
        (
            None,
            "encoder.1",
            r"no gates at encoder\.1: this model has some at encoder\.0\.forward, encoder\.10\.forward",
        ),
        ("encoder", "decoder.0", r"no gates at decoder\.0 in encoder"),
        (None, "encoder.0.forward.forge", r"no gates at encoder\.0\.forward\.forge:"),
    ],
)
def test_there_is_no_such_place(side: Any, place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(EVERY, side, place)


def test_a_row_is_the_mean_of_the_units_or_a_unit(bahdanau: Translator) -> None:
    translated = translate(bahdanau, SENTENCE)
    means = means_grid(translated.fed, EVERY[:2])
    np.testing.assert_allclose(means.values, [[0.2, 0.6], [0.2, 0.6]])
    assert means.rows == ("encoder.0.forward.forget", "encoder.10.forward.forget")
    units = units_grid(translated.fed, EVERY[2:3])
    np.testing.assert_allclose(units.values, [[0.0, 0.3], [0.2, 0.6], [0.4, 0.9]])
    assert units.rows == ("unit 0", "unit 1", "unit 2")
    assert units.remarks == ("decoder.0.input",)
    assert means.columns == units.columns == ("a", "b")
    assert means.darkest == units.darkest == 1.0


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_the_picture_is_written(suffix: str, begin: bytes, bahdanau: Translator, tmp_path: Path) -> None:
    shown = draw(bahdanau, SENTENCE, tmp_path / f"gates{suffix}")
    assert [gate.path for gate in shown] == [
        f"encoder.0.{cell}" for cell in ("forward.reset", "forward.update", "backward.reset", "backward.update")
    ]
    assert (tmp_path / f"gates{suffix}").read_bytes().startswith(begin)


def test_a_row_for_each_gate_or_unit(bahdanau: Translator, tmp_path: Path) -> None:
    [only] = draw(bahdanau, SENTENCE, tmp_path / "gates.svg", place="decoder.reset", rows="units")
    assert only.path == "decoder.reset"
    assert (tmp_path / "gates.svg").read_text("utf-8").count("<!-- unit ") == 16


@pytest.mark.parametrize(
    ("sentence", "name", "place", "message"),
    [
        ("a", "gates.jpg", "decoder.reset", r"\.png, \.svg or \.pdf"),
        (" ", "gates.png", "decoder.reset", "the sentence is empty"),
        ("a", "gates.png", "decoder", r"--units shows one gate: .* decoder\.reset, decoder\.update"),
        ("a", "gates.png", None, r"--units shows one gate: .* encoder\.0\.forward\.reset"),
    ],
)
def test_a_mistake_leaves_nothing(
    sentence: str, name: str, place: str | None, message: str, bahdanau: Translator, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        draw(bahdanau, sentence, tmp_path / name, place=place, rows="units")
    assert list(tmp_path.iterdir()) == []


def test_models_without_cells_or_gates_are_told() -> None:
    with pytest.raises(UserError, match="no recurrent cells, as a Transformer has none"):
        gates(untrained("transformer"), SENTENCE)
    plain = {"cell": {"type": "plain", "dim": 4}}
    with pytest.raises(UserError, match="are plain and have no gates; weft inspect gradients"):
        gates(untrained("bahdanau", encoder=plain, decoder=plain), SENTENCE)
