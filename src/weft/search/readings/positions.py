"""Reading frames that are the output's positions."""

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.marks import BEGIN, END, PAD
from weft.core.state import Hypothesis
from weft.search.allowed import IMPOSSIBLE
from weft.search.role import Given


class _Ends(NamedTuple):
    """Where each output ends."""

    lengths: Tensor  # [B], its tokens
    scores: Tensor  # [B], the log-probability of ending there
    forced: Tensor  # [B], whether the limit made it so, though another end was more probable


class PositionReading:
    """Each frame's most probable token, up to the end: one hypothesis a sentence. Of equal tokens the lowest id.

    Where the frames come with lengths, the most probable of them that `limit` and the frames allow is taken, and its
    score stands for END's. Else the output ends at the first frame whose most probable token is END, or, at the limit
    or in the last frame, wherever END is forced.
    """

    def __init__(self, given: Given):
        if given.blank:
            raise UserError(
                "reads a token in each frame, but the frames of this model.lattice spell paths, in which a blank "
                "stands between tokens: take the reading best-path or prefix-beam"
            )

    @torch.no_grad()
    def __call__(self, frames: Frames, limit: Tensor) -> list[list[Hypothesis]]:
        ends = _at_mark(frames, limit) if frames.lengths is None else _at_length(frames, frames.lengths, limit)
        marks = torch.tensor([PAD, BEGIN, END], device=limit.device)
        scores, tokens = frames.log_probs.index_fill(2, marks, IMPOSSIBLE).max(2)
        rows = zip(tokens.tolist(), scores.tolist(), *(part.tolist() for part in ends), strict=True)
        return [_hypotheses(*row) for row in rows]


def _at_mark(frames: Frames, limit: Tensor) -> _Ends:
    """The first frame that says END, or the last one allowed."""
    marks = torch.tensor([PAD, BEGIN], device=limit.device)
    ended = frames.log_probs.index_fill(2, marks, IMPOSSIBLE).argmax(2) == END  # [B,F]
    last = torch.minimum(limit, frames.mask.sum(1) - 1)
    places = torch.arange(ended.shape[1], device=limit.device)
    lengths = (ended | (places >= last[:, None])).to(torch.uint8).argmax(1)  # the first of the greatest
    rows = torch.arange(len(lengths), device=limit.device)
    return _Ends(lengths, frames.log_probs[rows, lengths, END], ~ended[rows, lengths])


def _at_length(frames: Frames, log_probs: Tensor, limit: Tensor) -> _Ends:
    """The most probable length, log_probs [B,L], of those allowed."""
    most = torch.minimum(limit, frames.mask.sum(1))
    over = torch.arange(log_probs.shape[1], device=limit.device) > most[:, None]
    scores, lengths = log_probs.masked_fill(over, IMPOSSIBLE).max(1)
    return _Ends(lengths, scores, scores < log_probs.amax(1))


def _hypotheses(
    tokens: list[int], scores: list[float], length: int, end_score: float, forced: bool
) -> list[Hypothesis]:
    """The output, unless its probability is zero."""
    token_scores = (*scores[:length], end_score)
    score = sum(token_scores)
    if not score > IMPOSSIBLE:
        return []
    return [Hypothesis(tuple(tokens[:length]), score, token_scores, finished=not forced)]
