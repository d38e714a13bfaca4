"""Law 4: cells equal torch's own with the same weights, a plain writing of the paper, and their own single steps."""

from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from laws.plainly import Array, array, half_padded, sequence, sigmoid
from laws.variants import Variant, variants
from weft.core.padded import Padded
from weft.nn.cells.cell import RecurrentCell, run_stepwise, zero_states
from weft.nn.cells.elman import ElmanCell
from weft.nn.cells.gru import GRUCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import VariationalCarry, VariationalDropoutCell


def torchs_weights(ours: RecurrentCell) -> dict[str, Tensor]:
    """The cell's weights under the names, and in the order, of torch's own."""
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
def test_cells_are_torchs(ours: Any, theirs: Any, run: Any) -> None:
    ours = ours.double()
    other = theirs(5, 7, batch_first=True).double()
    other.load_state_dict(torchs_weights(ours))
    x = half_padded(2, 6, 5)
    first = tuple(torch.randn(2, 7, dtype=torch.float64) for _ in ours.state_dims)
    outputs, states = run(ours, x, first)
    for row, length in enumerate((6, 3)):
        begin = tuple(part[None, row : row + 1] for part in first)
        expected, last = other(x.data[row : row + 1, :length], begin if len(begin) > 1 else begin[0])
        assert_close(outputs.data[row, :length], expected[0])
        for state, part in zip(states, last if isinstance(last, tuple) else (last,), strict=True):
            assert_close(state[row], part[0, 0])


def test_gru_with_reset_before_is_the_papers() -> None:
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
    _, after = cell.run(x, zero_states(cell, x.data))
    (last,) = cell.states(after)
    np.testing.assert_allclose(array(last), h, atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("peepholes", ["none", "diagonal", "full"])
def test_lstm_is_the_papers(peepholes: Any, coupled: bool) -> None:
    """Gers et al. 2002 (diagonal; the output gate sees the new cell), a full matrix on the old one, and CIFG."""
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
    _, after = cell.run(x, zero_states(cell, x.data))
    last_h, last_c = cell.states(after)
    np.testing.assert_allclose(array(last_h), h, atol=1e-12)
    np.testing.assert_allclose(array(last_c), c, atol=1e-12)


def test_a_normalised_lstm_is_the_papers() -> None:
    """Ba, Kiros & Hinton 2016, equations 20-22: the products are normalised, the bias is added, c is normalised."""
    cell = LSTMCell(5, 0, dim=7, layer_norm=True, forget_bias=1.5).double()
    assert array(cell.inputs.bias).reshape(4, 7).mean(1).tolist() == [0.0, 1.5, 0.0, 0.0]
    x = sequence(2, 4, 5)

    def norm(a: Array) -> Array:
        centred = a - a.mean(-1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled

    w, b, u = (array(p) for p in (cell.inputs.input.weight, cell.inputs.bias, cell.recurrence.matrix.weight))
    h = c = np.zeros((2, 7))
    for t in range(4):
        i, f, g, o = np.split(norm(array(x.data)[:, t] @ w.T) + norm(h @ u.T) + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(norm(c))
    _, after = cell.run(x, zero_states(cell, x.data))
    last_h, _ = cell.states(after)
    np.testing.assert_allclose(array(last_h), h, atol=1e-10)


@pytest.mark.parametrize("variant", list(variants(RecurrentCell)), ids=lambda variant: variant.name)
def test_a_run_is_the_steps_of_it(variant: Variant) -> None:
    """Also for rows that end early, and from states that are not zero."""
    cell = variant.make(5, 0).double().eval()
    x = half_padded(2, 6, 5)
    first = tuple(torch.randn(2, dim, dtype=torch.float64) for dim in cell.state_dims)
    outputs, after = cell.run(x, cell.start(first))
    stepped, expected = run_stepwise(cell, x, cell.start(first))
    mask = x.mask[:, :, None]
    assert_close(outputs.data * mask, stepped.data * mask)
    for ours, theirs in zip(cell.states(after), cell.states(expected), strict=True):
        assert_close(ours, theirs)


# not where each product is normalised by itself, or where cells above have an extra input of their own
PLAIN_CELLS = [
    one for one in variants(RecurrentCell) if "layer_norm=yes" not in one.name and "extra_input=all" not in one.name
]


@pytest.mark.parametrize("variant", PLAIN_CELLS, ids=lambda variant: variant.name)
def test_an_extra_input_is_as_good_as_a_longer_one(variant: Variant) -> None:
    """W x + C c = [W C] [x; c]: with the extra input in its place, the same numbers come out of a cell without one."""
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


def test_a_kept_recurrence_stays_orthogonal_while_it_learns() -> None:
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


def test_dropout_in_time_has_one_mask_a_sequence() -> None:
    """Gal & Ghahramani 2016: the same numbers of x and of h are missing at every step, also of later calls."""
    torch.manual_seed(1)
    cell = VariationalDropoutCell(5, 0, cell=partial(GRUCell, dim=7), dropout=0.5).double()
    x = sequence(2, 6, 5)
    carry = cell.start(zero_states(cell, x.data))
    of_input, of_output, _ = cast(VariationalCarry, carry)
    assert 0 < int((of_input == 0).sum()) < of_input.numel()
    h = torch.zeros(2, 7, dtype=torch.double)
    expected = []
    for t in range(6):
        h, _ = cell.cell(cell.cell.project(x.data[:, t] * of_input), (h,), None, of_output)  # the direct path is whole
        expected.append(h)
    outputs, _ = cell.run(x, carry)
    assert_close(outputs.data, torch.stack(expected, 1))
    first, middle = cell.run(Padded.unpadded(x.data[:, :2]), carry)
    second, _ = cell.run(Padded.unpadded(x.data[:, 2:]), middle)
    assert_close(torch.cat([first.data, second.data], 1), torch.stack(expected, 1))


def test_a_mask_leaves_the_direct_path_of_a_gru_alone() -> None:
    """With nothing of h in the products, z h still carries all of it on."""
    cell = GRUCell(5, 0, dim=7).double()
    nn.init.zeros_(cell.inputs.input.weight)
    nn.init.constant_(cell.inputs.bias, 0.0)
    h = torch.randn(2, 7, dtype=torch.double)
    after, _ = cell(cell.project(torch.randn(2, 5, dtype=torch.double)), (h,), None, torch.zeros_like(h))
    assert_close(after, h / 2)
