"""Which tokens a search may take next."""

import torch
from torch import Tensor

from weft.core.marks import BEGIN, END, PAD

IMPOSSIBLE = float("-inf")


def allowed(log_probs: Tensor, at_limit: Tensor) -> tuple[Tensor, Tensor]:
    """Leave only what may come next: never PAD or BEGIN, and END alone in the rows that are at their limit.

    log_probs [N,V], at_limit [N] -> the log-probabilities with the rest at minus infinity [N,V], and whether END is
    forced although another token is more probable [N].
    """
    marks = torch.tensor([PAD, BEGIN], device=log_probs.device)
    outputs = log_probs.index_fill(1, marks, IMPOSSIBLE)
    end = outputs[:, END].clone()
    forced = at_limit & (end < outputs.amax(1))
    outputs.masked_fill_(at_limit[:, None], IMPOSSIBLE)  # in place, as [N,V] is the largest tensor of a search
    outputs[:, END] = end
    return outputs, forced
