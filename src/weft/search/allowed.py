"""Which tokens a search may take next."""

from torch import Tensor

from weft.core.marks import BEGIN, END, PAD

IMPOSSIBLE = float("-inf")


def allowed(log_probs: Tensor, at_limit: Tensor) -> tuple[Tensor, Tensor]:
    """Leave only what may come next: never PAD or BEGIN, and END alone in the rows that are at their limit.

    log_probs [N,V], at_limit [N] -> the log-probabilities with the rest at minus infinity [N,V], and whether END is
    forced although another token is more probable [N]. They are the same tensor, written into: it is the largest of a
    search, and a pass over it costs much of a step.
    """
    log_probs[:, PAD] = log_probs[:, BEGIN] = IMPOSSIBLE
    if not at_limit.any():
        return log_probs, at_limit
    end = log_probs[:, END].clone()
    forced = at_limit & (end < log_probs.amax(1))
    log_probs.masked_fill_(at_limit[:, None], IMPOSSIBLE)
    log_probs[:, END] = end
    return log_probs, forced
