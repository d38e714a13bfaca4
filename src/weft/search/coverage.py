"""Coverage: which places of the source a hypothesis has looked at, and the price of those that it has not.

    cp(X; Y) = beta sum_i log(min(sum_j p_ij, 1))         (Wu et al. 2016, equation 14)

p_ij is the weight of source position i when token j was said. It is never above 0, which is all that a bound on what a
hypothesis can still reach needs to know.
"""

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.state import Hypothesis

LEAST = 1e-6  # a place at which a window never let a hypothesis look would cost infinitely much


def looked(sums: Tensor | None, attention: Tensor | None) -> Tensor:
    """The weights of all steps so far, summed [N,S]; sums is None before the first."""
    if attention is None:
        raise UserError(
            "coverage_penalty needs to know where the model looks, but this one has no attention: write 0 for it"
        )
    return attention if sums is None else sums + attention


def coverage(sums: Tensor, rows: Tensor) -> Tensor:
    """Without beta, of hypotheses that extend these rows [U,C] of the sums [N,S], N = U K -> [U,C].

    Places at which none of a sentence's rows has looked so far are not counted: that is how padding is known.
    """
    counted = (sums > 0).view(len(rows), -1, sums.shape[1]).any(1)  # [U,S]
    prices = sums.clamp(LEAST, 1).log()[rows]  # [U,C,S]
    return torch.where(counted[:, None], prices, 0).sum(2)


def coverage_of(hypothesis: Hypothesis) -> float:
    """The same of one whole output; what its windows never let it look at is not counted."""
    sums = torch.tensor(hypothesis.attention, dtype=torch.float64).sum(0, keepdim=True)  # [1,S]
    return float(coverage(sums, torch.zeros(1, 1, dtype=torch.long)))
