"""Self-attention within a window: blockwise computation and the cache of a decoder."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from weft.core import tracing
from weft.core.padded import Padded
from weft.models.transformer import TransformerDecoder, TransformerEncoder
from weft.nn.attention import CrossAttention, LocalPredictiveWindow
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.self_attention import SelfAttention, is_blockwise_faster


def padded(lengths: list[int], dim: int = 8) -> Padded:
    steps = max(lengths)
    data = torch.randn(len(lengths), steps, dim, dtype=torch.float64)
    return Padded(data, torch.arange(steps) < torch.tensor(lengths)[:, None])


@settings(max_examples=25, deadline=None)
@given(window=st.integers(1, 40), longest=st.integers(1, 150), shorter=st.integers(1, 150))
def test_blockwise_attention_matches_full_attention(window: int, longest: int, shorter: int) -> None:
    """With tracing, the full weight matrix is computed; otherwise blocks, if they are faster."""
    torch.manual_seed(window)
    attention = SelfAttention(8, heads=2, rotary=True, window=window).double()
    x = padded([longest, min(shorter, longest)])
    bias = x.bias(torch.float64)[:, None, None]
    y, weights = attention(x.data, bias)
    with tracing.trace_tensors():
        expected, whole = attention(x.data, bias)
    assert (weights is None) == is_blockwise_faster(longest, window)
    assert_close(y[x.mask], expected[x.mask], atol=1e-10, rtol=0)
    assert whole is not None
    positions = torch.arange(longest)
    assert not whole[..., (positions[:, None] - positions).abs() > window].any()


def test_window_longer_than_the_sequence_has_no_effect() -> None:
    torch.manual_seed(0)
    x = padded([7, 4])
    bias = x.bias(torch.float64)[:, None, None]
    free, far = SelfAttention(8).double(), SelfAttention(8, window=6).double()
    far.load_state_dict(free.state_dict())
    assert_close(free(x.data, bias)[0][x.mask], far(x.data, bias)[0][x.mask], atol=1e-12, rtol=0)


@pytest.mark.parametrize("length", [30, 90])
def test_positions_outside_the_window_have_no_effect(length: int) -> None:
    torch.manual_seed(0)
    encoder = TransformerEncoder(8, layers=2, heads=2, ffn_dim=8, attention_window=3, dropout=0.0).double()
    x = padded([length]).data.requires_grad_()
    (gradient,) = torch.autograd.grad(encoder(Padded.unpadded(x)).keys[0, 15].square().sum(), x)
    in_window = gradient[0].abs().sum(-1) > 0
    assert in_window.nonzero().flatten().tolist() == [*range(9, 22)]  # twice the window to each side


def test_padding_outside_the_window_is_finite() -> None:
    """Padding positions with no real position in their window must not cause NaN in the next layer."""
    torch.manual_seed(0)
    encoder = TransformerEncoder(8, layers=2, heads=2, ffn_dim=8, attention_window=2, dropout=0.0).double()
    for lengths in ([90, 5], [20, 5]):
        assert encoder(padded(lengths)).keys.isfinite().all()


def test_decoder_cache_is_limited_to_the_window() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(8, heads=2, rotary=True, window=3).double()
    x = padded([10]).data
    cache = attention.start(x)
    whole, weights, after = attention.extend(x, cache)
    outputs = []
    for step in range(10):
        y, _, cache = attention.extend(x[:, step : step + 1], cache)
        outputs.append(y)
        assert cache.keys.shape[2] <= 3
    assert_close(torch.cat(outputs, 1), whole, atol=1e-12, rtol=0)
    assert_close(after, cache, atol=1e-12, rtol=0)
    assert [int((row > 0).sum()) for row in weights[0, 0]] == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]


def test_receptive_field_of_a_language_model_grows_by_layer() -> None:
    torch.manual_seed(0)
    decoder = TransformerDecoder(
        8, MemorySizes(0, 0), layers=2, heads=2, ffn_dim=8, attention_window=2, dropout=0.0
    ).double()
    x = padded([10]).data.requires_grad_()
    nothing = x.new_zeros(1, 0, 0)
    output, _ = decoder(x, decoder.start(Memory(nothing, nothing, torch.ones(1, 0, dtype=torch.bool))))
    (gradient,) = torch.autograd.grad(output.hidden[0, 7].square().sum(), x)
    assert (gradient[0].abs().sum(-1) > 0).nonzero().flatten().tolist() == [3, 4, 5, 6, 7]


def test_width_of_values_needs_a_projection() -> None:
    assert CrossAttention(4, MemorySizes(4, 4), projected=True, dim=6).dim == 6
    with pytest.raises(ValueError, match="set projected: true"):
        CrossAttention(4, MemorySizes(4, 4), dim=6)


def test_predicted_center_is_exact_in_half_precision() -> None:
    """bfloat16 counts exactly to 256 only: a center rounded beyond the last position would mask all of them."""
    window = LocalPredictiveWindow(4, half_width=1).bfloat16()
    torch.nn.init.constant_(window.hidden.weight, 10.0)
    torch.nn.init.constant_(window.vector.weight, 10.0)  # sigmoid = 1: the center is the length
    scores, lengths = torch.zeros(1, 1, 1, 259, dtype=torch.bfloat16), torch.full((1, 1, 1, 1), 259)
    weights = window(scores, torch.ones(1, 1, 1, 4, dtype=torch.bfloat16), lengths, None)
    assert weights.dtype == torch.bfloat16
    assert weights.isfinite().all()
    assert int(weights.argmax()) == 258
