"""Law 4 for instant decoders: frame heads, reading and loss are what plain loops over the equations give."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from weft.core.codec import BOS, EOS, PAD
from weft.core.state import FrameOutput, Hypothesis
from weft.decoding.non_autoregressive import PositionwiseDecoder
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.models.heads import AlignedHead, DenseHead
from weft.nn.memory import Memory, MemorySizes

WIDTH, CLASSES, LIMIT = 3, 5, 4
MASK = torch.tensor([[True, True, True], [True, False, False]])
Array = NDArray[np.float64]


def no_language_model(folder: str) -> LanguageModel:
    raise FileNotFoundError(folder)


GIVEN = FrameDecoderContext(False, ["a"] * CLASSES, lambda lines: [[] for _ in lines], no_language_model)


def memory() -> Memory:
    keys = torch.randn(2, 3, WIDTH, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return Memory(keys, keys, MASK)


def through(network: nn.Sequential, x: Array) -> Array:
    """Matrices with ReLU between them."""
    first, *others = [part for part in network if isinstance(part, nn.Linear)]
    x = first.weight.detach().numpy() @ x + first.bias.detach().numpy()
    for matrix in others:
        x = matrix.weight.detach().numpy() @ np.maximum(x, 0) + matrix.bias.detach().numpy()
    return x


def log_softmax(x: Array) -> Array:
    return x - math.log(np.exp(x).sum())


@pytest.mark.parametrize("widths", [(), (6,), (6, 7)])
def test_aligned_reads_each_position_alone(widths: tuple[int, ...]) -> None:
    frame_head = AlignedHead(
        MemorySizes(WIDTH, WIDTH), CLASSES, hidden_dims=widths, length_prediction="classifier"
    ).double()
    frames = frame_head(memory())
    assert frames.lengths is not None
    for row, length in enumerate((3, 1)):
        numbers = np.stack([through(frame_head.network, memory().keys[row, place].numpy()) for place in range(length)])
        for place in range(length):
            expected = log_softmax(numbers[place, :CLASSES])
            np.testing.assert_allclose(frames.log_probs[row, place].detach(), expected, atol=1e-12)
        np.testing.assert_allclose(frames.lengths[row, :length].detach(), log_softmax(numbers[:, CLASSES]), atol=1e-12)
        assert (frames.lengths[row, length:] == -math.inf).all()


@pytest.mark.parametrize("widths", [(), (6,), (6, 7)])
def test_dense_reads_all_places_at_once(widths: tuple[int, ...]) -> None:
    frame_head = DenseHead(
        MemorySizes(WIDTH, WIDTH), CLASSES, max_length=LIMIT, hidden_dims=widths, length_prediction="classifier"
    ).double()
    frames = frame_head(memory())
    assert frames.lengths is not None
    for row, length in enumerate((3, 1)):
        places = np.zeros((LIMIT, WIDTH))
        places[:length] = memory().keys[row, :length].numpy()
        numbers = through(frame_head.network, places.reshape(-1)).reshape(LIMIT, CLASSES + 1)
        for place in range(LIMIT):
            expected = log_softmax(numbers[place, :CLASSES])
            np.testing.assert_allclose(frames.log_probs[row, place].detach(), expected, atol=1e-12)
        np.testing.assert_allclose(frames.lengths[row].detach(), log_softmax(numbers[:, CLASSES]), atol=1e-12)


@st.composite
def said(draw: st.DrawFn) -> tuple[FrameOutput, Tensor]:
    """Frames with few different numbers, so that ties come up, and a limit for each row."""
    real = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    width = max(real)
    number = st.sampled_from([0.0, -1.0, -2.0])
    log_probs = torch.tensor(
        [[[draw(number) for _ in range(CLASSES)] for _ in range(width)] for _ in real], dtype=torch.float64
    )
    mask = torch.arange(width) < torch.tensor(real)[:, None]
    lengths = torch.tensor([[draw(number) for _ in range(width + 1)] for _ in real], dtype=torch.float64)
    limit = torch.tensor([draw(st.integers(0, 5)) for _ in real])
    return FrameOutput(log_probs, mask, lengths if draw(st.booleans()) else None), limit


def read_plainly(log_probs: list[list[float]], lengths: list[float] | None, limit: int) -> Hypothesis:
    """One row, its padding cut off."""
    tokens = [token for token in range(CLASSES) if token not in (PAD, BOS) and (token != EOS or lengths is None)]
    best = [max(tokens, key=row.__getitem__) for row in log_probs]
    if lengths is not None:
        allowed = lengths[: min(limit, len(log_probs)) + 1]
        length = allowed.index(max(allowed))
        end, finished = max(allowed), max(allowed) == max(lengths)
    else:
        length = min([place for place, token in enumerate(best) if token == EOS] + [limit, len(log_probs) - 1])
        end, finished = log_probs[length][EOS], best[length] == EOS
    scores = (*(log_probs[place][best[place]] for place in range(length)), end)
    return Hypothesis(tuple(best[:length]), sum(scores), scores, finished)


@settings(deadline=None, max_examples=200)
@given(said())
def test_reading_is_a_plain_loop(case: tuple[FrameOutput, Tensor]) -> None:
    frames, limit = case
    for row, hypotheses in enumerate(PositionwiseDecoder(GIVEN)(frames, limit)):
        real = int(frames.mask[row].sum())
        lengths = None if frames.lengths is None else frames.lengths[row].tolist()
        assert hypotheses == [read_plainly(frames.log_probs[row, :real].tolist(), lengths, int(limit[row]))]
