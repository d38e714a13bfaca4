"""CTC forced alignment: the most probable path of a known output through the frames, by the Viterbi algorithm."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import FrameOutput

FloatArray = NDArray[np.float64]


class CTCAlignment(NamedTuple):
    """The most probable path of an output."""

    spans: tuple[range, ...]  # the frames of each token; between them are blanks
    path: tuple[int, ...]  # the class of each frame
    score: float


@torch.no_grad()
def forced_align(frames: FrameOutput, target: Padded) -> list[CTCAlignment]:
    """Align each target [B,T], which ends with EOS, with the frames of its row, which must have a blank."""
    rows = zip(frames.log_probs.double().cpu().numpy(), frames.mask.sum(1).tolist(), strict=True)
    tokens = [row[: length - 1] for row, length in zip(target.data.tolist(), target.lengths().tolist(), strict=True)]
    return [_align(log_probs[:length], output) for (log_probs, length), output in zip(rows, tokens, strict=True)]


def _align(log_probs: FloatArray, tokens: list[int]) -> CTCAlignment:
    """log_probs [F,C] of one row. The states are the tokens with a blank before, between and after them."""
    states = np.full(2 * len(tokens) + 1, log_probs.shape[1] - 1)
    states[1::2] = tokens
    scores, steps = _viterbi(log_probs[:, states], states)
    last = len(states) - 1 - int(len(states) > 1 and scores[-2] >= scores[-1])
    score = float(scores[last])
    if not np.isfinite(score):
        raise UserError(
            f"{len(tokens)} tokens have no path through {len(log_probs)} frames: every token needs a frame, and two "
            "equal neighbors a blank between them"
        )
    positions = np.zeros(len(steps), np.int64)  # [F], the state of each frame
    for frame in range(len(steps) - 1, -1, -1):
        positions[frame] = last
        last -= steps[frame, last]
    bounds = [np.searchsorted(positions, [2 * number + 1, 2 * number + 2]) for number in range(len(tokens))]
    spans = tuple(range(int(first), int(end)) for first, end in bounds)
    return CTCAlignment(spans, tuple(states[positions].tolist()), score)


def _viterbi(scores: FloatArray, states: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
    """v_t(s) = x_t(s) max of v_{t-1}(s), v_{t-1}(s - 1) and, between tokens that differ, v_{t-1}(s - 2).

    scores [F,S], the logarithms of x -> log v_F [S], and by how many states each step advanced [F,S].
    """
    can_skip = np.zeros(len(states), bool)
    can_skip[3::2] = states[3::2] != states[1:-2:2]
    best = np.where(np.arange(scores.shape[1]) < 2, scores[0], -np.inf)  # a path begins with a blank or the first token
    steps = np.zeros(scores.shape, np.int64)
    for frame in range(1, len(scores)):
        shifted = np.concatenate([[-np.inf, -np.inf], best])
        options = np.stack([best, shifted[1:-1], np.where(can_skip, shifted[:-2], -np.inf)])
        steps[frame] = options.argmax(0)
        best = options.max(0) + scores[frame]
    return best, steps
