"""The hypotheses of a beam search that go on."""

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.marks import BEGIN
from weft.core.state import State
from weft.search.allowed import IMPOSSIBLE


class Live(NamedTuple):
    """Of each of the A sentences still searched G beams of K rows, side by side: U = A G beams. (G is 1 but in diverse
    beam search.)"""

    beams: Tensor  # [U], their numbers: G times the place of the sentence in the batch, and on from there
    tokens: Tensor  # [U,K], the last ones
    scores: Tensor  # [U,K], minus infinity where there are fewer than K
    candidates: Tensor  # [U,K], their places in the last link
    looked: Tensor | None  # [U*K,S], the attention so far, where coverage is asked for
    state: State


def start(state: State, sentences: int, beams: int, size: int, device: torch.device) -> Live:
    """Equal rows for each sentence, of which only the first of each beam counts."""
    tokens = torch.full((sentences * beams, size), BEGIN, device=device)
    scores = torch.full((sentences * beams, size), IMPOSSIBLE, device=device)
    scores[:, 0] = 0
    everything = torch.arange(sentences, device=device)
    state = state.select(everything, everything.repeat_interleave(beams * size))
    return Live(torch.arange(len(tokens), device=device), tokens, scores, torch.zeros_like(tokens), None, state)


def leave(live: Live, done: Tensor, beams: int) -> Live:
    """Without the sentences all of whose beams are done [U]; beams that wait for others have no hypothesis any more."""
    if not done.any():
        return live
    going = (~done).view(-1, beams).any(1)  # [A]
    scores = live.scores.masked_fill(done[:, None], IMPOSSIBLE)
    if going.all():
        return live._replace(scores=scores)
    sentences = going.nonzero()[:, 0]
    kept = going.repeat_interleave(beams).nonzero()[:, 0]
    rows = (first_of_each(done, live.tokens.shape[1]) + torch.arange(live.tokens.shape[1], device=done.device))[kept]
    rows = rows.flatten()
    return Live(
        live.beams[kept],
        live.tokens[kept],
        scores[kept],
        live.candidates[kept],
        None if live.looked is None else live.looked[rows],
        live.state.select(sentences, rows),
    )


def first_of_each(beams: Tensor, width: int) -> Tensor:
    """[U,1]: where each of the beams [U] starts when each has `width` places side by side."""
    return torch.arange(len(beams), device=beams.device)[:, None] * width
