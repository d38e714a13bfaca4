"""Sampling: each token is drawn, the more probable the more often."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Annotated

import torch
from annotated_types import Gt, Le
from torch import Tensor

from weft.core.randomness import seed_for
from weft.core.state import Hypothesis, State, Step
from weft.core.types import Count, Positive
from weft.search.single import search_single
from weft.search.truncation import above, nucleus, top_k

AT_ONCE = 8  # outputs of each sentence, so that memory does not grow with their number

PositiveShare = Annotated[float, Gt(0.0), Le(1.0)]


class Sampling:
    """y_i ~ p(y_i | y_1 ... y_{i-1})^(1 / temperature), renormalised: ancestral sampling, if nothing else is set.

    Below 1 the temperature makes the probable more probable (near 0 it is greedy search), above 1 less. Then these, one
    after the other, leave out what is improbable; each may be set alone or beside others, and the best token stays:

    - `top_k`: all but the k most probable (Fan, Lewis & Dauphin 2018).
    - `top_p`, the nucleus: all but the most probable that together have a probability of p (Holtzman et al. 2020).
    - `min_p`: what is less than p times as probable as the best (Nguyen et al. 2024).

    `best` outputs are drawn of each sentence, and given in the order of the draws: none is better than another, and the
    same one may come twice. Scores are those of the model, without temperature. Every draw is a function of the seed,
    the number of the line, the number of the output and the place of the token.
    """

    can_require = False

    def __init__(
        self,
        *,
        best: Count = 1,
        temperature: Positive = 1.0,
        top_k: Count | None = None,
        top_p: PositiveShare | None = None,
        min_p: PositiveShare | None = None,
        seed: int = 1,
    ):
        self.best = best
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.min_p = min_p
        self.seed = seed

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        outputs = range(self.best)
        drawn = [
            self._draw(step, state, limit, lines, outputs[first : first + AT_ONCE])
            for first in range(0, self.best, AT_ONCE)
        ]
        return [list(chain.from_iterable(parts)) for parts in zip(*drawn, strict=True)]

    def rank(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score

    def _draw(
        self, step: Step, state: State, limit: Tensor, lines: Tensor, outputs: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Of each sentence the outputs with these numbers."""
        count = len(outputs)
        rows = torch.arange(len(limit), device=limit.device).repeat_interleave(count)
        names = [(line, output) for line in lines.tolist() for output in outputs]
        found = search_single(step, state.select(rows, rows), limit[rows], partial(self._pick, names))
        return [list(chain.from_iterable(found[first : first + count])) for first in range(0, len(rows), count)]

    def _pick(self, names: list[tuple[int, int]], log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:
        """The token in whose part of [0, 1] a uniform draw lies; what has no probability has no part of it."""
        seeds = [seed_for(self.seed, "sampling", *names[sentence], length) for sentence in sentences.tolist()]
        draws = torch.stack([uniform(seed) for seed in seeds]).to(log_probs.device)
        parts = self._truncated(log_probs.double() / self.temperature).softmax(1).cumsum(1)
        places = torch.searchsorted(parts, draws * parts[:, -1:], right=True)
        return places[:, 0].clamp(max=log_probs.shape[1] - 1)  # rounding may make a draw as large as the last sum

    def _truncated(self, logits: Tensor) -> Tensor:
        """Logits [A,V] with what is left out at minus infinity."""
        if self.top_k is not None:
            logits = top_k(logits, self.top_k)
        if self.top_p is not None:
            logits = nucleus(logits, self.top_p)
        if self.min_p is not None:
            logits = above(logits, self.min_p)
        return logits


def uniform(seed: int) -> Tensor:
    """[1], at least 0 and below 1; drawn on the CPU, so that every device draws the same."""
    return torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
