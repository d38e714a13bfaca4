"""Law 4: cells equal torch's own with the same weights, the equations of their papers, and their own single steps."""

from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from laws.numpy_reference import Array, array, half_padded, sequence, sigmoid
from laws.variants import Variant, variants
from weft.core.padded import Padded
from weft.nn.cells.cell import RecurrentCell, run_stepwise, zero_states
from weft.nn.cells.elman import ElmanCell
from weft.nn.cells.gru import GRUCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import VariationalCarry, VariationalDropoutCell


def torch_weights(ours: RecurrentCell) -> dict[str, Tensor]:
    """Return the weights of a cell with the names and in the order of torch's own."""
    weights = ours.state_dict()  # type: ignore[attr-defined]
    parts = [name for name in ("recurrence.matrix", "gates.matrix", "candidate.matrix") if f"{name}.weight" in weights]
    recurrent = torch.cat([weights[f"{name}.weight"] for name in parts])
    bias = torch.zeros(len(recurrent))
    if "candidate.matrix.bias" in weights:
        bias[2 * len(bias) // 3 :] = weights["candidate.matrix.bias"]
    return {
        "weight_ih_l0": weights["inputs.input.weight"],
        "bias_ih_l0": weights["inputs.input.bias"],
        "weight_hh_l0": recurrent,
        "bias_hh_l0": bias,
    }


@pytest.mark.parametrize("run", [run_stepwise, lambda cell, x, states: cell.run(x, states)], ids=["stepped", "run"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ElmanCell(5, 0, dim=7), nn.RNN),
        (GRUCell(5, 0, dim=7, reset_after=True), nn.GRU),
        (LSTMCell(5, 0, dim=7), nn.LSTM),
    ],
    ids=["elman", "gru", "lstm"],
)
def test_cells_equal_torch(ours: Any, theirs: Any, run: Any) -> None:
    ours = ours.double()
    torch_cell = theirs(5, 7, batch_first=True).double()
    torch_cell.load_state_dict(torch_weights(ours))
    x = half_padded(2, 6, 5)
    first = tuple(torch.randn(2, 7, dtype=torch.float64) for _ in ours.state_dims)
    outputs, states = run(ours, x, first)
    for row, length in enumerate((6, 3)):
        initial = tuple(part[None, row : row + 1] for part in first)
        expected, last = torch_cell(x.data[row : row + 1, :length], initial if len(initial) > 1 else initial[0])
        assert_close(outputs.data[row, :length], expected[0])
        for state, part in zip(states, last if isinstance(last, tuple) else (last,), strict=True):
            assert_close(state[row], part[0, 0])


def test_gru_with_reset_before_equals_paper_equations() -> None:
    cell = GRUCell(5, 0, dim=7, reset_after=False).double()
    x = sequence(2, 4, 5)
    w, b = array(cell.inputs.input.weight), array(cell.inputs.input.bias)
    u_r, u_z = np.split(array(cell.gates.matrix.weight), 2)
    u = array(cell.candidate.matrix.weight)
    h = np.zeros((2, 7))
    for t in range(4):
        w_r, w_z, w_n = np.split(array(x.data)[:, t] @ w.T + b, 3, axis=-1)
        r, z = sigmoid(w_r + h @ u_r.T), sigmoid(w_z + h @ u_z.T)
        h = z * h + (1 - z) * np.tanh(w_n + (r * h) @ u.T)
    _, end = cell.run(x, zero_states(cell, x.data))
    (last,) = cell.states(end)
    np.testing.assert_allclose(array(last), h, atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("peepholes", ["none", "diagonal", "full"])
def test_lstm_equals_paper_equations(peepholes: Any, coupled: bool) -> None:
    """Gers et al. 2002 (diagonal; the output gate reads the new state), a full matrix on the old state, and CIFG."""
    cell = LSTMCell(5, 0, dim=7, peepholes=peepholes, coupled=coupled).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.5)
    x = sequence(2, 4, 5)
    w, b, u = (array(p) for p in (cell.inputs.input.weight, cell.inputs.input.bias, cell.recurrence.matrix.weight))

    def peep(gate: Any, c: Array) -> Any:
        match peepholes:
            case "diagonal":
                return c * array(gate.weight)
            case "full":
                return c @ array(gate.matrix.weight).T
        return 0.0

    h = c = np.zeros((2, 7))
    for t in range(4):
        parts = np.split(array(x.data)[:, t] @ w.T + b + h @ u.T, 3 if coupled else 4, axis=-1)
        f = sigmoid(parts[-3] + peep(cell.forget_peephole, c))
        i = 1 - f if coupled else sigmoid(parts[0] + peep(cell.input_peephole, c))
        new = f * c + i * np.tanh(parts[-2])
        o = sigmoid(parts[-1] + peep(cell.output_peephole, new if peepholes == "diagonal" else c))
        h, c = o * np.tanh(new), new
    _, end = cell.run(x, zero_states(cell, x.data))
    last_h, last_c = cell.states(end)
    np.testing.assert_allclose(array(last_h), h, atol=1e-12)
    np.testing.assert_allclose(array(last_c), c, atol=1e-12)


def test_layer_norm_lstm_equals_paper_equations() -> None:
    """Ba, Kiros & Hinton 2016, equations 20-22: normalize the products, add the bias, normalize c."""
    cell = LSTMCell(5, 0, dim=7, layer_norm=True, forget_bias=1.5).double()
    assert array(cell.inputs.bias).reshape(4, 7).mean(1).tolist() == [0.0, 1.5, 0.0, 0.0]
    x = sequence(2, 4, 5)

    def norm(a: Array) -> Array:
        centered = a - a.mean(-1, keepdims=True)
        scaled: Array = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        return scaled

    w, b, u = (array(p) for p in (cell.inputs.input.weight, cell.inputs.bias, cell.recurrence.matrix.weight))
    h = c = np.zeros((2, 7))
    for t in range(4):
        i, f, g, o = np.split(norm(array(x.data)[:, t] @ w.T) + norm(h @ u.T) + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(norm(c))
    _, end = cell.run(x, zero_states(cell, x.data))
    last_h, _ = cell.states(end)
    np.testing.assert_allclose(array(last_h), h, atol=1e-10)


@pytest.mark.parametrize("variant", list(variants(RecurrentCell)), ids=lambda variant: variant.name)
def test_run_equals_single_steps(variant: Variant) -> None:
    """Also for padded rows and nonzero initial states."""
    cell = variant.make(5, 0).double().eval()
    x = half_padded(2, 6, 5)
    first = tuple(torch.randn(2, dim, dtype=torch.float64) for dim in cell.state_dims)
    outputs, end = cell.run(x, cell.start(first))
    stepped, expected = run_stepwise(cell, x, cell.start(first))
    mask = x.mask[:, :, None]
    assert_close(outputs.data * mask, stepped.data * mask)
    for ours, theirs in zip(cell.states(end), cell.states(expected), strict=True):
        assert_close(ours, theirs)


# without cells that normalize each product or whose upper layers have their own extra input
PLAIN_CELLS = [
    variant
    for variant in variants(RecurrentCell)
    if "layer_norm=yes" not in variant.name and "extra_input=all" not in variant.name
]


@pytest.mark.parametrize("variant", PLAIN_CELLS, ids=lambda variant: variant.name)
def test_extra_input_equals_joined_input(variant: Variant) -> None:
    """W x + C c = [W C] [x; c]: a cell without extra input gives the same output for the joined input."""
    cell, longer = variant.make(5, 3).double().eval(), variant.make(8, 0).double().eval()
    weights = cell.state_dict()
    joined = {
        name: torch.cat([value, weights[name.replace("input.weight", "context.weight")]], 1)
        if name.endswith("inputs.input.weight") and name.replace("input.weight", "context.weight") in weights
        else value
        for name, value in weights.items()
        if not name.endswith("context.weight")
    }
    longer.load_state_dict(joined)
    x, c = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    states = zero_states(cell, x)
    output, _ = cell(cell.project(x), cell.start(states), c)
    expected, _ = longer(longer.project(torch.cat([x, c], -1)), longer.start(states))
    assert_close(output, expected)


def test_orthogonal_recurrence_stays_orthogonal_in_training() -> None:
    cell = ElmanCell(5, 0, dim=7, orthogonal=True).double()
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        outputs, _ = cell.run(sequence(2, 4, 5), zero_states(cell, sequence(2, 4, 5).data))
        torch.autograd.backward(outputs.data.pow(2).sum())
        optimizer.step()
    matrix = cell.recurrence.matrix.weight
    assert_close(matrix.T @ matrix, torch.eye(7, dtype=torch.float64), atol=1e-6, rtol=0)
    assert cell.recurrence.matrix.learned.abs().max() > 0  # type: ignore[operator]


def test_variational_dropout_has_one_mask_per_sequence() -> None:
    """Gal & Ghahramani 2016: the same entries of x and h are dropped at every step, also in later calls."""
    torch.manual_seed(1)
    cell = VariationalDropoutCell(5, 0, cell=partial(GRUCell, dim=7), dropout=0.5).double()
    x = sequence(2, 6, 5)
    carry = cell.start(zero_states(cell, x.data))
    input_mask, output_mask, _ = cast(VariationalCarry, carry)
    assert 0 < int((input_mask == 0).sum()) < input_mask.numel()
    h = torch.zeros(2, 7, dtype=torch.double)
    expected = []
    for t in range(6):
        h, _ = cell.cell(
            cell.cell.project(x.data[:, t] * input_mask), (h,), None, output_mask
        )  # the direct path has no dropout
        expected.append(h)
    outputs, _ = cell.run(x, carry)
    assert_close(outputs.data, torch.stack(expected, 1))
    first, middle = cell.run(Padded.unpadded(x.data[:, :2]), carry)
    second, _ = cell.run(Padded.unpadded(x.data[:, 2:]), middle)
    assert_close(torch.cat([first.data, second.data], 1), torch.stack(expected, 1))


def test_mask_does_not_change_direct_path_of_gru() -> None:
    """With h masked in the products, z h still has all of it."""
    cell = GRUCell(5, 0, dim=7).double()
    nn.init.zeros_(cell.inputs.input.weight)
    nn.init.constant_(cell.inputs.bias, 0.0)
    h = torch.randn(2, 7, dtype=torch.double)
    end, _ = cell(cell.project(torch.randn(2, 5, dtype=torch.double)), (h,), None, torch.zeros_like(h))
    assert_close(end, h / 2)
