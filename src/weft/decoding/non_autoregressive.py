"""Decoding of frames that are the positions of the output: the most probable token of each position, and the frames
as a step function for searches.
"""

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS, PAD
from weft.core.state import FrameOutput, Hypothesis, State, StepOutput
from weft.decoding.search import NEG_INF, FrameDecoderContext


def initial_position_state(frames: FrameOutput) -> State:
    """Return the state before the first token; its memory holds the log-probabilities of each position [B,F+1,V].

    Ending after n tokens has the probability of that length, if the frames come with lengths; otherwise the
    probability of EOS in frame n + 1.
    """
    scores = frames.log_probs.masked_fill(~frames.mask[..., None], NEG_INF)
    scores = F.pad(scores, (0, 0, 0, 1), value=NEG_INF)
    if frames.lengths is not None:
        count = frames.mask.shape[1] + 1
        ends = F.pad(frames.lengths, (0, max(0, count - frames.lengths.shape[1])), value=NEG_INF)[:, :count]
        too_long = torch.arange(count, device=frames.mask.device) > frames.mask.sum(1)[:, None]
        scores[..., EOS] = ends.masked_fill(too_long, NEG_INF)
    return State(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


def position_step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
    """Step function: the log-probabilities of the next position [N,V]; only the number of tokens [N] matters."""
    scores, position = cast(Tensor, state.memory), cast(Tensor, state.carry)
    sentences = torch.arange(len(scores), device=scores.device).repeat_interleave(len(tokens) // len(scores))
    return StepOutput(scores[sentences, position.clamp(max=scores.shape[1] - 1)], None), State(scores, position + 1)


class PositionwiseDecoder:
    """The most probable token of each frame, the lowest id of equal ones: one hypothesis per sentence.

    If the frames come with lengths, the output has the most probable length that `limit` and the number of frames
    allow, and its score is that of the end. Otherwise the output ends at the first frame whose most probable token is
    EOS, and at the latest, forced, at the limit or the last frame.
    """

    def __init__(self, context: FrameDecoderContext):
        if context.blank:
            raise UserError(
                "reads one token from each frame, but the frames of this model.frame_head spell CTC paths with blanks: "
                "use the frame decoder best-path or prefix-beam"
            )

    @torch.no_grad()
    def __call__(self, frames: FrameOutput, limit: Tensor) -> list[list[Hypothesis]]:
        ends = _ends_at_eos(frames, limit) if frames.lengths is None else _ends_at_length(frames, frames.lengths, limit)
        special = torch.tensor([PAD, BOS, EOS], device=limit.device)
        scores, tokens = frames.log_probs.index_fill(2, special, NEG_INF).max(2)
        found: list[list[Hypothesis]] = []
        rows = zip(tokens.tolist(), scores.tolist(), *(part.tolist() for part in ends), strict=True)
        for row, row_scores, length, end_score, forced in rows:
            token_scores = (*row_scores[:length], end_score)
            hypothesis = Hypothesis(tuple(row[:length]), sum(token_scores), token_scores, finished=not forced)
            found.append([hypothesis] if hypothesis.score > NEG_INF else [])
        return found


def _ends_at_eos(frames: FrameOutput, limit: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The number of tokens, the log-probability of ending there, and whether the limit forced it although another end
    was more probable [B]."""
    special = torch.tensor([PAD, BOS], device=limit.device)
    ended = frames.log_probs.index_fill(2, special, NEG_INF).argmax(2) == EOS  # [B,F]
    last = torch.minimum(limit, frames.mask.sum(1) - 1)
    positions = torch.arange(ended.shape[1], device=limit.device)
    lengths = (ended | (positions >= last[:, None])).to(torch.uint8).argmax(1)  # the first True
    rows = torch.arange(len(lengths), device=limit.device)
    return lengths, frames.log_probs[rows, lengths, EOS], ~ended[rows, lengths]


def _ends_at_length(frames: FrameOutput, log_probs: Tensor, limit: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same for the most probable of the allowed lengths, log_probs [B,L]."""
    longest = torch.minimum(limit, frames.mask.sum(1))
    too_long = torch.arange(log_probs.shape[1], device=limit.device) > longest[:, None]
    scores, lengths = log_probs.masked_fill(too_long, NEG_INF).max(1)
    return lengths, scores, scores < log_probs.amax(1)
