"""Law 4: attention equals torch's own with the same weights; scores and windows equal the equations of their papers."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from laws.numpy_reference import Array, array, half_padded, sequence, sigmoid, softmax
from laws.variants import Variant, variants
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.models.transformer import TransformerEncoder
from weft.nn.attention import CrossAttention, LocalMonotonicWindow, LocalPredictiveWindow
from weft.nn.attention_scores import (
    AdditiveScore,
    AttentionScore,
    CosineScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
)
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.self_attention import SelfAttention


def test_self_attention_equals_torch() -> None:
    ours = SelfAttention(8, heads=2).double()
    theirs = nn.MultiheadAttention(8, 2, batch_first=True).double()
    names = {"in_proj_": "project.", "out_proj.": "out."}
    weights = ours.state_dict()
    theirs.load_state_dict({a + end: weights[b + end] for a, b in names.items() for end in ("weight", "bias")})
    x = sequence(3, 5, 8)
    x.mask[1, 3:] = False
    y, attention = ours(x.data, x.bias(torch.float64)[:, None, None])
    expected, expected_attention = theirs(x.data, x.data, x.data, key_padding_mask=~x.mask, average_attn_weights=False)
    assert_close(y, expected)
    assert_close(attention, expected_attention)


def test_cross_attention_equals_torch() -> None:
    ours = CrossAttention(8, MemorySizes(6, 6), heads=2, projected=True, dim=8).double()
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
def test_transformer_encoder_equals_torch(norm: Any) -> None:
    ours = TransformerEncoder(8, layers=1, heads=2, ffn_dim=12, norm=norm, dropout=0.0).double()
    layer = ours.layers[0]
    theirs = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, norm_first=norm == "pre").double()
    names = {
        "self_attn.in_proj_": "self_attention.project.",
        "self_attn.out_proj.": "self_attention.out.",
        "linear1.": "feedforward.up.",
        "linear2.": "feedforward.down.",
        "norm1.": "self_attention_residual.norm.",
        "norm2.": "feedforward_residual.norm.",
    }
    weights = layer.state_dict()
    theirs.load_state_dict({a + end: weights[b + end] for a, b in names.items() for end in ("weight", "bias")})
    x = sequence(2, 5, 8)
    expected = theirs(x.data)
    assert_close(ours(x).keys, ours.norm(expected))


def score_by_equation(score: Any, query: Array, keys: Array) -> Array:
    """Return e(q, k_j) [S] of one query by the equation of the paper."""
    w = {name: array(value) for name, value in score.state_dict().items()}
    match score:
        case AdditiveScore():
            other = w.get("key.weight", w["query.weight"])
            return np.array([w["vector"] @ np.tanh(w["query.weight"] @ query + other @ k) for k in keys])
        case GeneralScore():
            return np.array([query @ w["matrix.weight"] @ k for k in keys])
        case CosineScore():
            return np.array([w["strength"] * query @ k / np.linalg.norm(query) / np.linalg.norm(k) for k in keys])
        case LocationScore():
            return np.array((w["matrix.weight"] @ query)[: len(keys)])
        case ScaledDotScore():
            return np.array(keys @ query / np.sqrt(len(query)))
        case DotScore():
            return np.array(keys @ query)
    raise AssertionError(f"no equation for {score}")


PUBLISHED = ("dot", "scaled-dot", "general", "additive", "concat", "cosine", "location")


@pytest.mark.parametrize(
    "variant",
    [variant for variant in variants(AttentionScore) if variant.name.startswith(PUBLISHED)],
    ids=lambda variant: variant.name,
)
def test_attention_scores_equal_paper_equations(variant: Variant) -> None:
    attention = CrossAttention(8, MemorySizes(8, 8), score=variant.make).double()
    data = half_padded(2, 5, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(2, 1, 8).data
    context, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
    for row, length in enumerate((5, 3)):
        h = array(data.data[row, :length])
        a = softmax(score_by_equation(attention.score, array(query[row, 0]), h))
        np.testing.assert_allclose(array(weights[row, 0, 0, :length]), a, atol=1e-12)
        np.testing.assert_allclose(array(context[row, 0]), a @ h, atol=1e-12)
        assert not weights[row, :, :, length:].any()


def test_concat_score_equals_additive_score() -> None:
    """v·tanh([W U] [q; k]) = v·tanh(W q + U k)."""
    score = REGISTRY[AttentionScore]["concat"](4, 6, dim=3).double()
    query, keys = sequence(1, 1, 4).data[0, 0], sequence(1, 5, 6).data[0]
    joined = torch.cat([score.query.weight, score.key.weight], 1)
    concat = torch.stack([score.vector @ torch.tanh(joined @ torch.cat([query, key])) for key in keys])
    assert_close(score(query[None, None, None], score.prepare_keys(keys[None, None]), None)[0, 0, 0], concat)


@pytest.mark.parametrize("steps", [(0,), (1, 4), (9,)])
def test_local_windows_equal_paper_equations(steps: tuple[int, ...]) -> None:
    data = half_padded(2, 7, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(2, 10, 8).data
    for window in (LocalMonotonicWindow, LocalPredictiveWindow):
        attention = CrossAttention(8, MemorySizes(8, 8), score=DotScore, window=partial(window, half_width=2)).double()
        _, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
        for row, length in enumerate((7, 3)):
            for t in steps:
                q, h = array(query[row, t]), array(data.data[row, :length])
                p, gauss = float(min(t, length - 1)), np.ones(length)
                if window is LocalPredictiveWindow:
                    window_parameter = attention.get_submodule("window").get_parameter
                    hidden, vector = (array(window_parameter(f"{name}.weight")) for name in ("hidden", "vector"))
                    p = length * float(sigmoid(vector @ np.tanh(hidden @ q))[0])
                    gauss = np.exp(-((np.arange(length) - p) ** 2) / (2 * (2 / 2) ** 2))
                e = np.where(np.abs(np.arange(length) - p) <= 2, h @ q, -np.inf)
                np.testing.assert_allclose(array(weights[row, 0, t, :length]), softmax(e) * gauss, atol=1e-12)


def test_coverage_is_sum_of_previous_attention() -> None:
    attention = CrossAttention(8, MemorySizes(8, 8), score=partial(AdditiveScore, coverage=True)).double()
    score = attention.score
    assert isinstance(score, AdditiveScore)
    assert score.coverage is not None
    nn.init.normal_(score.coverage)
    data = sequence(1, 5, 8)
    memory, query = Memory(data.data, data.data, data.mask), sequence(1, 3, 8).data
    _, weights, _ = attention(query, attention.prepare(memory), attention.start(memory))
    w = {name: array(value) for name, value in score.state_dict().items()}
    coverage = np.zeros(5)
    for t in range(3):
        inner = [w["query.weight"] @ array(query[0, t]) + w["key.weight"] @ k for k in array(data.data[0])]
        a = softmax(
            np.array([w["vector"] @ np.tanh(i + w["coverage"] * c) for i, c in zip(inner, coverage, strict=True)])
        )
        np.testing.assert_allclose(array(weights[0, 0, t]), a, atol=1e-12)
        coverage = coverage + a


def test_source_longer_than_max_source_length_is_reported() -> None:
    attention = CrossAttention(8, MemorySizes(8, 8), score=partial(LocationScore, max_source_length=4))
    data = sequence(1, 5, 8).data.float()
    with pytest.raises(UserError, match="max_source_length = 4"):
        attention.prepare(Memory(data, data, torch.ones(1, 5, dtype=torch.bool)))
