"""Law 4: cells, attention and losses equal torch's own with the same weights, and a plain writing of the paper."""

from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from laws.variants import Variant, batch, make, small, variants
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.model.build import Slots
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.roles import Decoder, Embed, Encoder, Head
from weft.nn.attention import Attention, SelfAttention
from weft.nn.cells.gru import GRU
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.plain import Plain
from weft.nn.cells.role import Cell, zeros
from weft.nn.cells.unroll import unroll
from weft.nn.cells.variational import Carry, Variational
from weft.nn.memory import Memory, Sizes
from weft.nn.positions import Sinusoidal, rotate
from weft.nn.scores import Additive, Cosine, Dot, General, Location, ScaledDot, Score
from weft.nn.windows import LocalMonotonic, LocalPredictive
from weft.objective.cross_entropy import CrossEntropy

Array = NDArray[np.float64]


def array(tensor: Tensor) -> Array:
    plain: Array = tensor.detach().numpy()
    return plain


def sigmoid(x: Array) -> Array:
    gate: Array = 1 / (1 + np.exp(-x))
    return gate


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    shares: Array = e / e.sum(-1, keepdims=True)
    return shares


def sequence(*shape: int) -> Padded:
    torch.manual_seed(1)
    return Padded(torch.randn(*shape, dtype=torch.float64), torch.ones(shape[:2], dtype=torch.bool))


def half_padded(*shape: int) -> Padded:
    """A second row of three."""
    x = sequence(*shape)
    x.mask[1, 3:] = False
    return x


def torchs_weights(ours: Cell) -> dict[str, Tensor]:
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


@pytest.mark.parametrize("run", [unroll, lambda cell, x, states: cell.run(x, states)], ids=["stepped", "run"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Plain(5, 0, dim=7), nn.RNN), (GRU(5, 0, dim=7, reset="after"), nn.GRU), (LSTM(5, 0, dim=7), nn.LSTM)],
    ids=["plain", "gru", "lstm"],
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
    cell = GRU(5, 0, dim=7, reset="before").double()
    x = sequence(2, 4, 5)
    w, b = array(cell.inputs.input.weight), array(cell.inputs.input.bias)
    u_r, u_z = np.split(array(cell.gates.matrix.weight), 2)
    u = array(cell.candidate.matrix.weight)
    h = np.zeros((2, 7))
    for t in range(4):
        w_r, w_z, w_n = np.split(array(x.data)[:, t] @ w.T + b, 3, axis=-1)
        r, z = sigmoid(w_r + h @ u_r.T), sigmoid(w_z + h @ u_z.T)
        h = z * h + (1 - z) * np.tanh(w_n + (r * h) @ u.T)
    _, after = cell.run(x, zeros(cell, x.data))
    (last,) = cell.states(after)
    np.testing.assert_allclose(array(last), h, atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("peepholes", ["none", "diagonal", "full"])
def test_lstm_is_the_papers(peepholes: Any, coupled: bool) -> None:
    """Gers et al. 2002 (diagonal; the output gate sees the new cell), a full matrix on the old one, and CIFG."""
    cell = LSTM(5, 0, dim=7, peepholes=peepholes, coupled=coupled).double()
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
    _, after = cell.run(x, zeros(cell, x.data))
    last_h, last_c = cell.states(after)
    np.testing.assert_allclose(array(last_h), h, atol=1e-12)
    np.testing.assert_allclose(array(last_c), c, atol=1e-12)


def test_a_normalised_lstm_is_the_papers() -> None:
    """Ba, Kiros & Hinton 2016, equations 20-22: the products are normalised, the bias is added, c is normalised."""
    cell = LSTM(5, 0, dim=7, normalise=True, forget_bias=1.5).double()
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
    _, after = cell.run(x, zeros(cell, x.data))
    last_h, _ = cell.states(after)
    np.testing.assert_allclose(array(last_h), h, atol=1e-10)


@pytest.mark.parametrize("variant", list(variants(Cell)), ids=lambda variant: variant.name)
def test_a_run_is_the_steps_of_it(variant: Variant) -> None:
    """Also for rows that end early, and from states that are not zero."""
    cell = variant.make(5, 0).double().eval()
    x = half_padded(2, 6, 5)
    first = tuple(torch.randn(2, dim, dtype=torch.float64) for dim in cell.state_dims)
    outputs, after = cell.run(x, cell.start(first))
    stepped, expected = unroll(cell, x, cell.start(first))
    mask = x.mask[:, :, None]
    assert_close(outputs.data * mask, stepped.data * mask)
    for ours, theirs in zip(cell.states(after), cell.states(expected), strict=True):
        assert_close(ours, theirs)


# not where each product is normalised by itself, or where cells above have an extra input of their own
PLAIN_CELLS = [one for one in variants(Cell) if "normalise=yes" not in one.name and "extra=all" not in one.name]


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
    states = zeros(cell, x)
    output, _ = cell(cell.project(x), cell.start(states), c)
    expected, _ = longer(longer.project(torch.cat([x, c], -1)), longer.start(states))
    assert_close(output, expected)


def test_a_kept_recurrence_stays_orthogonal_while_it_learns() -> None:
    cell = Plain(5, 0, dim=7, keep="orthogonal").double()
    optimiser = torch.optim.SGD(cell.parameters(), lr=0.5)
    for _ in range(5):
        optimiser.zero_grad()
        outputs, _ = cell.run(sequence(2, 4, 5), zeros(cell, sequence(2, 4, 5).data))
        torch.autograd.backward(outputs.data.pow(2).sum())
        optimiser.step()
    matrix = cell.recurrence.matrix.weight
    assert_close(matrix.T @ matrix, torch.eye(7, dtype=torch.float64), atol=1e-6, rtol=0)
    assert cell.recurrence.matrix.learned.abs().max() > 0  # type: ignore[operator]


def test_self_attention_is_torchs() -> None:
    ours = SelfAttention(8, heads=2).double()
    theirs = nn.MultiheadAttention(8, 2, batch_first=True).double()
    names = {"in_proj_": "project.", "out_proj.": "out."}
    weights = ours.state_dict()
    theirs.load_state_dict({a + end: weights[b + end] for a, b in names.items() for end in ("weight", "bias")})
    x = sequence(3, 5, 8)
    x.mask[1, 3:] = False
    y, looks = ours(x.data, x.bias(torch.float64)[:, None, None])
    expected, expected_looks = theirs(x.data, x.data, x.data, key_padding_mask=~x.mask, average_attn_weights=False)
    assert_close(y, expected)
    assert_close(looks, expected_looks)


def test_attention_to_a_memory_is_torchs() -> None:
    ours = Attention(8, Sizes(6, 6), heads=2, projected=True, dim=8).double()
    theirs = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True).double()
    weights = ours.state_dict()
    theirs.load_state_dict(
        {
            **{f"{name[0]}_proj_weight": weights[f"{name}.weight"] for name in ("query", "key", "value")},
            "in_proj_bias": torch.cat([weights[f"{name}.bias"] for name in ("query", "key", "value")]),
            "out_proj.weight": weights["out.weight"],
            "out_proj.bias": weights["out.bias"],
        }
    )
    memory, query = sequence(2, 5, 6), sequence(2, 3, 8).data
    context, _, _ = ours(query, ours.prepare(Memory(memory.data, memory.data, memory.mask)), ())
    expected, _ = theirs(query, memory.data, memory.data)
    assert_close(context, expected)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_transformer_encoder_is_torchs(norm: Any) -> None:
    ours = TransformerEncoder(8, layers=1, heads=2, hidden=12, norm=norm, dropout=0.0).double()
    layer = ours.layers[0]
    theirs = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, norm_first=norm == "pre").double()
    names = {
        "self_attn.in_proj_": "attention.project.",
        "self_attn.out_proj.": "attention.out.",
        "linear1.": "feedforward.up.",
        "linear2.": "feedforward.down.",
        "norm1.": "around_attention.norm.",
        "norm2.": "around_feedforward.norm.",
    }
    weights = layer.state_dict()
    theirs.load_state_dict({a + end: weights[b + end] for a, b in names.items() for end in ("weight", "bias")})
    x = sequence(2, 5, 8)
    expected = theirs(x.data)
    assert_close(ours(x).keys, ours.norm(expected))


def scored(score: Any, query: Array, keys: Array) -> Array:
    """[S], every paper's e(q, k_j) for one query, written plainly."""
    w = {name: array(value) for name, value in score.state_dict().items()}
    match score:
        case Additive():
            other = w.get("key.weight", w["query.weight"])
            return np.array([w["vector"] @ np.tanh(w["query.weight"] @ query + other @ k) for k in keys])
        case General():
            return np.array([query @ w["matrix.weight"] @ k for k in keys])
        case Cosine():
            return np.array([w["strength"] * query @ k / np.linalg.norm(query) / np.linalg.norm(k) for k in keys])
        case Location():
            return np.array((w["matrix.weight"] @ query)[: len(keys)])
        case ScaledDot():
            return np.array(keys @ query / np.sqrt(len(query)))
        case Dot():
            return np.array(keys @ query)
    raise AssertionError(f"no equation is written here for {score}")


PUBLISHED = ("dot", "scaled-dot", "general", "additive", "concat", "cosine", "location")


@pytest.mark.parametrize(
    "variant",
    [variant for variant in variants(Score) if variant.name.startswith(PUBLISHED)],
    ids=lambda variant: variant.name,
)
def test_attention_with_every_published_score_is_the_papers(variant: Variant) -> None:
    attention = Attention(8, Sizes(8, 8), score=variant.make).double()
    data = half_padded(2, 5, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(2, 1, 8).data
    context, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
    for row, length in enumerate((5, 3)):
        h = array(data.data[row, :length])
        a = softmax(scored(attention.score, array(query[row, 0]), h))
        np.testing.assert_allclose(array(weights[row, 0, 0, :length]), a, atol=1e-12)
        np.testing.assert_allclose(array(context[row, 0]), a @ h, atol=1e-12)
        assert not weights[row, :, :, length:].any()


def test_concat_is_additive() -> None:
    """v·tanh([W U] [q; k]) = v·tanh(W q + U k)."""
    score = REGISTRY[Score]["concat"](4, 6, dim=3).double()
    query, keys = sequence(1, 1, 4).data[0, 0], sequence(1, 5, 6).data[0]
    whole = torch.cat([score.query.weight, score.key.weight], 1)
    concat = torch.stack([score.vector @ torch.tanh(whole @ torch.cat([query, key])) for key in keys])
    assert_close(score(query[None, None, None], score.keys(keys[None, None]), None)[0, 0, 0], concat)


@pytest.mark.parametrize("steps", [(0,), (1, 4), (9,)])
def test_local_windows_are_luongs(steps: tuple[int, ...]) -> None:
    data = half_padded(2, 7, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(2, 10, 8).data
    for window in (LocalMonotonic, LocalPredictive):
        attention = Attention(8, Sizes(8, 8), score=Dot, window=partial(window, reach=2)).double()
        _, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
        for row, length in enumerate((7, 3)):
            for t in steps:
                q, h = array(query[row, t]), array(data.data[row, :length])
                p, gauss = float(min(t, length - 1)), np.ones(length)
                if window is LocalPredictive:
                    weights_of = attention.get_submodule("window").get_parameter
                    hidden, vector = (array(weights_of(f"{name}.weight")) for name in ("hidden", "vector"))
                    p = length * float(sigmoid(vector @ np.tanh(hidden @ q))[0])
                    gauss = np.exp(-((np.arange(length) - p) ** 2) / (2 * (2 / 2) ** 2))
                e = np.where(np.abs(np.arange(length) - p) <= 2, h @ q, -np.inf)
                np.testing.assert_allclose(array(weights[row, 0, t, :length]), softmax(e) * gauss, atol=1e-12)


def test_coverage_is_the_sum_of_the_weights_so_far() -> None:
    attention = Attention(8, Sizes(8, 8), score=partial(Additive, coverage=True)).double()
    score = attention.score
    assert isinstance(score, Additive)
    assert score.cover is not None
    nn.init.normal_(score.cover)
    data = sequence(1, 5, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(1, 3, 8).data
    _, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
    w = {name: array(value) for name, value in score.state_dict().items()}
    covered = np.zeros(5)
    for t in range(3):
        inner = [w["query.weight"] @ array(query[0, t]) + w["key.weight"] @ k for k in array(data.data[0])]
        a = softmax(np.array([w["vector"] @ np.tanh(i + w["cover"] * c) for i, c in zip(inner, covered, strict=True)]))
        np.testing.assert_allclose(array(weights[0, 0, t]), a, atol=1e-12)
        covered = covered + a


def test_a_source_past_the_last_location_is_told() -> None:
    attention = Attention(8, Sizes(8, 8), score=partial(Location, max_source=4))
    data = sequence(1, 5, 8).data.float()
    with pytest.raises(UserError, match="max_source = 4"):
        attention.prepare(Memory(data, data, torch.ones(1, 5, dtype=torch.bool)))


def test_sinusoidal_positions_are_the_papers() -> None:
    table = array(Sinusoidal(6).double()(torch.arange(50)[None])[0])
    for p in (0, 1, 49):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            np.testing.assert_allclose(table[p, [2 * i, 2 * i + 1]], [np.sin(angle), np.cos(angle)], atol=1e-5)


def test_rotated_products_depend_on_the_distance_alone() -> None:
    query, key = sequence(1, 1, 8).data[None], sequence(1, 2, 8).data[None, :, 1:]
    products = [(rotate(query, p) * rotate(key, p + 3)).sum() for p in (0, 1, 20)]
    assert_close(products[1], products[0])
    assert_close(products[2], products[0])
    assert (products[0] - (rotate(query, 0) * rotate(key, 4)).sum()).abs() > 1e-3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 4, 512])
@pytest.mark.parametrize("bias", [True, False])
def test_cross_entropy_and_its_gradients_are_torchs(smoothing: float, chunk: int, bias: bool) -> None:
    embedding = small(REGISTRY[Embed]["tokens"])
    model = make(
        Slots(
            source=embedding,
            encoder=small(REGISTRY[Encoder]["transformer"]),
            target=embedding,
            decoder=small(REGISTRY[Decoder]["transformer"]),
            head=partial(REGISTRY[Head]["linear"], bias=bias),
        )
    )
    pairs = batch((4, 6), (5, 3))
    loss = CrossEntropy(smoothing=smoothing, chunk=chunk)(model, pairs)
    logits = model.head(model.features(pairs).hidden)[pairs.target.mask]
    targets = pairs.target.data[pairs.target.mask]
    expected = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    assert_close(loss.total, expected)
    assert_close(loss.parts["nll"], F.cross_entropy(logits, targets, reduction="sum"))
    assert loss.parts["accuracy"].item() == 100 * (logits.argmax(-1) == targets).sum().item()
    assert int(loss.count) == 9
    weights = list(model.parameters())
    ours = torch.autograd.grad(2 * loss.total, weights, allow_unused=True)
    theirs = torch.autograd.grad(2 * expected, weights, allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, other)


def test_dropout_in_time_has_one_mask_a_sequence() -> None:
    """Gal & Ghahramani 2016: the same numbers of x and of h are missing at every step, also of later calls."""
    torch.manual_seed(1)
    cell = Variational(5, 0, cell=partial(GRU, dim=7), dropout=0.5).double()
    x = sequence(2, 6, 5)
    carry = cell.start(zeros(cell, x.data))
    of_input, of_output, _ = cast(Carry, carry)
    assert 0 < int((of_input == 0).sum()) < of_input.numel()
    h = torch.zeros(2, 7, dtype=torch.double)
    expected = []
    for t in range(6):
        h, _ = cell.cell(cell.cell.project(x.data[:, t] * of_input), (h,), None, of_output)  # the direct path is whole
        expected.append(h)
    outputs, _ = cell.run(x, carry)
    assert_close(outputs.data, torch.stack(expected, 1))
    first, middle = cell.run(Padded.whole(x.data[:, :2]), carry)
    second, _ = cell.run(Padded.whole(x.data[:, 2:]), middle)
    assert_close(torch.cat([first.data, second.data], 1), torch.stack(expected, 1))


def test_a_mask_leaves_the_direct_path_of_a_gru_alone() -> None:
    """With nothing of h in the products, z h still carries all of it on."""
    cell = GRU(5, 0, dim=7).double()
    nn.init.zeros_(cell.inputs.input.weight)
    nn.init.constant_(cell.inputs.bias, 0.0)
    h = torch.randn(2, 7, dtype=torch.double)
    after, _ = cell(cell.project(torch.randn(2, 5, dtype=torch.double)), (h,), None, torch.zeros_like(h))
    assert_close(after, h / 2)
