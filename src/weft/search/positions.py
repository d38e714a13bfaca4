"""Frames that are an output's positions as a step function: whatever the tokens before, frame i says the i-th token.

Where the frames come with lengths, ending after n tokens has the probability of that length; else that of END in the
frame after them.
"""

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.state import Scores, State
from weft.search.allowed import IMPOSSIBLE


def start_positions(frames: Frames) -> State:
    """Before the first token. The memory is what is said at each position, one after the last frame included."""
    said = frames.log_probs.masked_fill(~frames.mask[..., None], IMPOSSIBLE)
    said = F.pad(said, (0, 0, 0, 1), value=IMPOSSIBLE)  # [B,F+1,V]
    if frames.lengths is not None:
        said[..., END] = _ends(frames.lengths, frames.mask)
    return State(said, torch.zeros(len(said), dtype=torch.long, device=said.device))


def step_positions(tokens: Tensor, state: State) -> tuple[Scores, State]:
    """What the next position says [N,V]. The tokens [N] matter only by their number."""
    said, position = cast(Tensor, state.memory), cast(Tensor, state.carry)
    sentences = torch.arange(len(said), device=said.device).repeat_interleave(len(tokens) // len(said))
    return Scores(said[sentences, position.clamp(max=said.shape[1] - 1)], None), State(said, position + 1)


def _ends(lengths: Tensor, mask: Tensor) -> Tensor:
    """The log-probability of so many tokens, where there are frames for them: [B,L], [B,F] -> [B,F+1]."""
    count = mask.shape[1] + 1
    ends = F.pad(lengths, (0, max(0, count - lengths.shape[1])), value=IMPOSSIBLE)[:, :count]
    over = torch.arange(count, device=mask.device) > mask.sum(1)[:, None]
    return ends.masked_fill(over, IMPOSSIBLE)
