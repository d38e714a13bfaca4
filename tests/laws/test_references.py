"""Law 4: cells, attention and losses equal torch's own with the same weights, and a plain writing of the paper."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from laws.variants import batch, make, small
from weft.config.registry import REGISTRY
from weft.core.padded import Padded
from weft.model.build import Slots
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.roles import Decoder, Embed, Encoder, Head
from weft.nn.attention import Attention, SelfAttention
from weft.nn.cells import GRU
from weft.nn.memory import Memory, Sizes
from weft.nn.positions import Sinusoidal, rotate
from weft.nn.recurrent import unroll
from weft.nn.scores import Additive
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


def test_gru_with_reset_after_is_torchs() -> None:
    ours = GRU(5, dim=7, reset="after").double()
    theirs = nn.GRU(5, 7, batch_first=True).double()
    weights = ours.state_dict()
    theirs.load_state_dict(
        {
            "weight_ih_l0": weights["input.weight"],
            "bias_ih_l0": weights["input.bias"],
            "weight_hh_l0": torch.cat([weights["gates.weight"], weights["candidate.weight"]]),
            "bias_hh_l0": torch.cat([torch.zeros(14), weights["candidate.bias"]]),
        }
    )
    x = sequence(3, 6, 5)
    outputs, (last,) = unroll(ours, x)
    expected, final = theirs(x.data)
    assert_close(outputs.data, expected)
    assert_close(last, final[0])


def test_gru_with_reset_before_is_the_papers() -> None:
    cell = GRU(5, dim=7, reset="before").double()
    x = sequence(2, 4, 5)
    w, b = array(cell.input.weight), array(cell.input.bias)
    u_r, u_z = np.split(array(cell.gates.weight), 2)
    u = array(cell.candidate.weight)
    h = np.zeros((2, 7))
    for t in range(4):
        w_r, w_z, w_n = np.split(array(x.data)[:, t] @ w.T + b, 3, axis=-1)
        r, z = sigmoid(w_r + h @ u_r.T), sigmoid(w_z + h @ u_z.T)
        h = z * h + (1 - z) * np.tanh(w_n + (r * h) @ u.T)
    _, (last,) = unroll(cell, x)
    np.testing.assert_allclose(array(last), h, atol=1e-12)


def test_the_carry_is_the_one_at_the_real_length() -> None:
    cell = GRU(5, dim=7).double()
    x = sequence(2, 6, 5)
    x.mask[1, 3:] = False
    _, (last,) = unroll(cell, x)
    _, (short,) = unroll(cell, Padded(x.data[1:, :3], x.mask[1:, :3]))
    assert_close(last[1:], short)


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
    ours = Attention(8, Sizes(6, 6), heads=2, projected=True).double()
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
    context, _ = ours(query, ours.prepare(Memory(memory.data, memory.data, memory.mask)))
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


def test_additive_attention_is_the_papers() -> None:
    attention = Attention(4, Sizes(6, 6), score=Additive).double()
    memory, query = sequence(2, 5, 6), sequence(2, 1, 4).data
    context, weights = attention(query, attention.prepare(Memory(memory.data, memory.data, memory.mask)))
    score = attention.score
    assert isinstance(score, Additive)
    w, u, v = array(score.query.weight), array(score.key.weight), array(score.vector)
    for row in range(2):
        h, s = array(memory.data[row]), array(query[row, 0])
        a = softmax(np.array([v @ np.tanh(w @ s + u @ h_j) for h_j in h]))
        np.testing.assert_allclose(array(weights[row, 0, 0]), a, atol=1e-12)
        np.testing.assert_allclose(array(context[row, 0]), a @ h, atol=1e-12)


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
