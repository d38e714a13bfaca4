"""Sampling: each token is drawn, the more probable the more often."""

import torch
from torch import Tensor

from weft.core.randomness import seed_for
from weft.core.state import Hypothesis, State, Step
from weft.core.types import Positive
from weft.search.single import search_single


class Sampling:
    """Ancestral sampling: y_i ~ p(y_i | y_1 ... y_{i-1})^(1 / temperature), renormalised; one output per sentence.

    Below 1 the probable becomes more probable (near 0 it is greedy search), above 1 less. The scores are those of the
    model, without the temperature. Every draw is a function of the seed, the place of the sentence in the batch and the
    place of the token in the output.
    """

    def __init__(self, *, temperature: Positive = 1.0, seed: int = 1):
        self.temperature = temperature
        self.seed = seed

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        return search_single(step, state, limit, self._draw)

    def _draw(self, log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:
        """argmax_v(log p_v / temperature + g_v), with g from a Gumbel distribution, is a draw from the softmax.

        So no token of probability zero is ever drawn while there is another. Maddison, Tarlow & Minka 2014.
        """
        seeds = [seed_for(self.seed, "sampling", sentence, length) for sentence in sentences.tolist()]
        noise = torch.stack([gumbel(log_probs.shape[1], seed) for seed in seeds]).to(log_probs.device)
        return (log_probs.double() / self.temperature + noise).max(1).indices


def gumbel(count: int, seed: int) -> Tensor:
    """[count], -log(-log(u)) of uniform u; drawn on the CPU, so that every device draws the same."""
    draws = torch.Generator().manual_seed(seed)
    return -torch.empty(count, dtype=torch.float64).exponential_(generator=draws).log()
