"""Which frames spell which token: the likeliest path of an output that is known, found by the Viterbi algorithm.

[first] = align(model.frames(source), target)
first.spans[0]  # the frames of the first token, as range(2, 4)
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.padded import Padded

Numbers = NDArray[np.float64]


class Aligned(NamedTuple):
    """The likeliest path of an output: the frames in which each token is told, the classes of all frames, its score."""

    spans: tuple[range, ...]  # one for each token; between them are blanks
    path: tuple[int, ...]
    score: float


@torch.no_grad()
def align(frames: Frames, target: Padded) -> list[Aligned]:
    """Align each target [B,T], its END the last, with the frames of its row, which must have a blank."""
    rows = zip(frames.log_probs.double().cpu().numpy(), frames.mask.sum(1).tolist(), strict=True)
    tokens = [row[: length - 1] for row, length in zip(target.data.tolist(), target.lengths().tolist(), strict=True)]
    return [align_one(log_probs[:length], output) for (log_probs, length), output in zip(rows, tokens, strict=True)]


def align_one(log_probs: Numbers, tokens: list[int]) -> Aligned:
    """log_probs [F,C] of one row. The states are the tokens with a blank before, between and after them."""
    blank = log_probs.shape[1] - 1
    states = np.full(2 * len(tokens) + 1, blank)
    states[1::2] = tokens
    scores, steps = best_scores(log_probs[:, states], may_skip(states))
    last = len(states) - 1 - int(len(states) > 1 and scores[-2] >= scores[-1])
    if not np.isfinite(scores[last]):
        raise UserError(
            f"these {len(tokens)} tokens have no path through {len(log_probs)} frames: a token needs a frame, and two "
            "equal ones a blank between them"
        )
    places = walked_back(steps, last)
    spans = tuple(span(places, 2 * number + 1) for number in range(len(tokens)))
    return Aligned(spans, tuple(states[places].tolist()), float(scores[last]))


def may_skip(states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """May a path come to this state from the one before the last? From token to token, if they differ."""
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    return skips


def best_scores(said: Numbers, skips: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.int64]]:
    """v_t(s) = x_t(s) max of v_{t-1}(s), v_{t-1}(s - 1) and, where it may skip, v_{t-1}(s - 2).

    said [F,S] -> v_F as logarithms [S], and by how many states each step came forward [F,S].
    """
    scores = np.where(np.arange(said.shape[1]) < 2, said[0], -np.inf)  # a blank or the first token is the beginning
    steps = np.zeros(said.shape, np.int64)
    for frame in range(1, len(said)):
        shifted = np.concatenate([[-np.inf, -np.inf], scores])
        ways = np.stack([scores, shifted[1:-1], np.where(skips, shifted[:-2], -np.inf)])
        steps[frame] = ways.argmax(0)
        scores = ways.max(0) + said[frame]
    return scores, steps


def walked_back(steps: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """The state in each frame [F]."""
    places = np.zeros(len(steps), np.int64)
    for frame in range(len(steps) - 1, -1, -1):
        places[frame] = last
        last -= steps[frame, last]
    return places


def span(places: NDArray[np.int64], state: int) -> range:
    """The frames that are in the state."""
    first, end = np.searchsorted(places, [state, state + 1])
    return range(int(first), int(end))
