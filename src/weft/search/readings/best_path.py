"""Best path decoding. Graves et al. 2006, section 3.2."""

import math

import torch
from torch import Tensor

from weft.core.frames import Frames
from weft.core.state import Hypothesis
from weft.search.readings.blank import require_blank
from weft.search.role import Given


class BestPath:
    """The output of the likeliest path: in each frame the likeliest class, then repeats merged and blanks left out.

    The score is that of the path. It is the least of what the output's probability can be, which is the sum over all
    its paths; another output may have a larger sum (`prefix-beam` looks for that).
    """

    def __init__(self, given: Given):
        require_blank(given)

    @torch.no_grad()
    def __call__(self, frames: Frames, limit: Tensor) -> list[list[Hypothesis]]:
        blank = frames.log_probs.shape[-1] - 1
        scores, classes = frames.log_probs.max(-1)  # [B,F]
        lengths = frames.mask.sum(1).tolist()
        rows = zip(classes.tolist(), scores.tolist(), lengths, limit.tolist(), strict=True)
        found = [collapse(row[:length], score[:length], blank, most) for row, score, length, most in rows]
        return [[hypothesis] if math.isfinite(hypothesis.score) else [] for hypothesis in found]


def collapse(path: list[int], scores: list[float], blank: int, limit: int) -> Hypothesis:
    """What a path spells. A token's score is that of its first frame and of those before it that no other token has."""
    tokens: list[int] = []
    token_scores = [0.0]  # the last is the end's, for as long as no token has taken it
    for kind, before, score in zip(path, [blank, *path], scores, strict=False):
        token_scores[-1] += score
        if kind not in (blank, before):
            tokens.append(kind)
            token_scores.append(0.0)
    count = min(len(tokens), limit)
    kept = (*token_scores[:count], sum(token_scores[count:]))
    return Hypothesis(tuple(tokens[:count]), sum(kept), kept, finished=len(tokens) <= limit)
