"""Law 4 for non-autoregressive models: frame heads and position-wise decoding equal plain loops over the equations."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from weft.core.special_tokens import BOS, EOS, PAD
from weft.core.state import FrameOutput, Hypothesis
from weft.decoding.non_autoregressive import PositionwiseDecoder
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.models.heads import AlignedHead, DenseHead
from weft.nn.encoder_memory import Memory, MemorySizes

WIDTH, CLASSES, LIMIT = 3, 5, 4
MASK = torch.tensor([[True, True, True], [True, False, False]])
Array = NDArray[np.float64]


def no_language_model(folder: str) -> LanguageModel:
    raise FileNotFoundError(folder)


DECODER_CONTEXT = FrameDecoderContext(False, ["a"] * CLASSES, lambda lines: [[] for _ in lines], no_language_model)


def memory() -> Memory:
    keys = torch.randn(2, 3, WIDTH, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return Memory(keys, keys, MASK)


def apply_network(network: nn.Sequential, x: Array) -> Array:
    """Apply the linear layers with ReLU between them."""
    first, *others = [layer for layer in network if isinstance(layer, nn.Linear)]
    x = first.weight.detach().numpy() @ x + first.bias.detach().numpy()
    for matrix in others:
        x = matrix.weight.detach().numpy() @ np.maximum(x, 0) + matrix.bias.detach().numpy()
    return x


def log_softmax(x: Array) -> Array:
    return x - math.log(np.exp(x).sum())


@pytest.mark.parametrize("widths", [(), (6,), (6, 7)])
def test_aligned_head_reads_each_position_separately(widths: tuple[int, ...]) -> None:
    frame_head = AlignedHead(
        MemorySizes(WIDTH, WIDTH), CLASSES, hidden_dims=widths, length_prediction="classifier"
    ).double()
    frames = frame_head(memory())
    assert frames.lengths is not None
    for row, length in enumerate((3, 1)):
        logits = np.stack(
            [apply_network(frame_head.network, memory().keys[row, position].numpy()) for position in range(length)]
        )
        for position in range(length):
            expected = log_softmax(logits[position, :CLASSES])
            np.testing.assert_allclose(frames.log_probs[row, position].detach(), expected, atol=1e-12)
        np.testing.assert_allclose(frames.lengths[row, :length].detach(), log_softmax(logits[:, CLASSES]), atol=1e-12)
        assert (frames.lengths[row, length:] == -math.inf).all()


@pytest.mark.parametrize("widths", [(), (6,), (6, 7)])
def test_dense_head_reads_all_positions(widths: tuple[int, ...]) -> None:
    frame_head = DenseHead(
        MemorySizes(WIDTH, WIDTH), CLASSES, max_length=LIMIT, hidden_dims=widths, length_prediction="classifier"
    ).double()
    frames = frame_head(memory())
    assert frames.lengths is not None
    for row, length in enumerate((3, 1)):
        inputs = np.zeros((LIMIT, WIDTH))
        inputs[:length] = memory().keys[row, :length].numpy()
        logits = apply_network(frame_head.network, inputs.reshape(-1)).reshape(LIMIT, CLASSES + 1)
        for position in range(LIMIT):
            expected = log_softmax(logits[position, :CLASSES])
            np.testing.assert_allclose(frames.log_probs[row, position].detach(), expected, atol=1e-12)
        np.testing.assert_allclose(frames.lengths[row].detach(), log_softmax(logits[:, CLASSES]), atol=1e-12)


@st.composite
def frame_outputs(draw: st.DrawFn) -> tuple[FrameOutput, Tensor]:
    """Draw frames with few different values, so that there are ties, and a length limit for each row."""
    unpadded = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    width = max(unpadded)
    value = st.sampled_from([0.0, -1.0, -2.0])
    log_probs = torch.tensor(
        [[[draw(value) for _ in range(CLASSES)] for _ in range(width)] for _ in unpadded], dtype=torch.float64
    )
    mask = torch.arange(width) < torch.tensor(unpadded)[:, None]
    lengths = torch.tensor([[draw(value) for _ in range(width + 1)] for _ in unpadded], dtype=torch.float64)
    limit = torch.tensor([draw(st.integers(0, 5)) for _ in unpadded])
    return FrameOutput(log_probs, mask, lengths if draw(st.booleans()) else None), limit


def decode_row(log_probs: list[list[float]], lengths: list[float] | None, limit: int) -> Hypothesis:
    """Decode one row without padding."""
    tokens = [token for token in range(CLASSES) if token not in (PAD, BOS) and (token != EOS or lengths is None)]
    best = [max(tokens, key=row.__getitem__) for row in log_probs]
    if lengths is not None:
        allowed = lengths[: min(limit, len(log_probs)) + 1]
        length = allowed.index(max(allowed))
        end, finished = max(allowed), max(allowed) == max(lengths)
    else:
        length = min([position for position, token in enumerate(best) if token == EOS] + [limit, len(log_probs) - 1])
        end, finished = log_probs[length][EOS], best[length] == EOS
    scores = (*(log_probs[position][best[position]] for position in range(length)), end)
    return Hypothesis(tuple(best[:length]), sum(scores), scores, finished)


@settings(deadline=None, max_examples=200)
@given(frame_outputs())
def test_positionwise_decoder_equals_loop(case: tuple[FrameOutput, Tensor]) -> None:
    frames, limit = case
    for row, hypotheses in enumerate(PositionwiseDecoder(DECODER_CONTEXT)(frames, limit)):
        unpadded = int(frames.mask[row].sum())
        lengths = None if frames.lengths is None else frames.lengths[row].tolist()
        assert hypotheses == [decode_row(frames.log_probs[row, :unpadded].tolist(), lengths, int(limit[row]))]
