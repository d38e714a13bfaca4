"""Ancestral sampling with temperature, top-k, top-p (nucleus) and min-p truncation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated

import torch
from annotated_types import Gt, Le
from torch import Tensor

from weft.core.seeds import derive_seed
from weft.core.setting_types import PositiveFloat, PositiveInt
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.greedy import search_single
from weft.decoding.search import NEG_INF, stable_topk

SAMPLES_PER_PASS = 8  # outputs of a sentence that are drawn together: bounds the memory

PositiveFraction = Annotated[float, Gt(0.0), Le(1.0)]


def keep_top_k(logits: Tensor, count: int) -> Tensor:
    """Set all but the `count` highest logits of each row [A,V] to -inf; ties go to the lower id."""
    values, tokens = stable_topk(logits, count)
    return torch.full_like(logits, NEG_INF).scatter_(1, tokens, values)


def keep_top_p(logits: Tensor, share: float) -> Tensor:
    """Set all but the fewest tokens whose probabilities sum to at least `share` to -inf, in each row [A,V]."""
    values, tokens = logits.sort(dim=1, descending=True, stable=True)
    probabilities = values.softmax(1)
    before = probabilities.cumsum(1) - probabilities  # of the more probable tokens: 0 for the first
    return torch.full_like(logits, NEG_INF).scatter_(1, tokens, values.masked_fill(before >= share, NEG_INF))


def keep_min_p(logits: Tensor, share: float) -> Tensor:
    """Set tokens less than `share` times as probable as the most probable one to -inf, in each row [A,V]."""
    threshold = logits.amax(1, keepdim=True) + math.log(share)
    return logits.masked_fill(logits < threshold, NEG_INF)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """y_i ~ p(y_i | y_1 ... y_{i-1})^(1 / temperature), renormalized: ancestral sampling by default.

    Improbable tokens are removed by these settings, in this order; each can be used alone, and the best token remains:

    - `top_k`: all but the k most probable tokens (Fan, Lewis & Dauphin 2018).
    - `top_p`, the nucleus: all but the most probable tokens with a total probability of p (Holtzman et al. 2020).
    - `min_p`: tokens less than p times as probable as the best (Nguyen et al. 2024).

    `n_best` outputs are drawn for each sentence and returned in the order of the draws; the same output may be drawn
    twice. Scores are those of the model, without temperature. Every draw is a function of the seed, the line number,
    the number of the output and the position of the token.
    """

    supports_constraints = False

    n_best: PositiveInt = 1
    temperature: PositiveFloat = 1.0
    top_k: PositiveInt | None = None
    top_p: PositiveFraction | None = None
    min_p: PositiveFraction | None = None
    seed: int = 1

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        outputs = range(self.n_best)
        drawn = [
            self._draw(step, state, limit, lines, outputs[first : first + SAMPLES_PER_PASS])
            for first in range(0, self.n_best, SAMPLES_PER_PASS)
        ]
        return [list(chain.from_iterable(parts)) for parts in zip(*drawn, strict=True)]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score

    def _draw(
        self, step: StepFunction, state: State, limit: Tensor, lines: Tensor, outputs: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """The outputs with these numbers, for each sentence."""
        count = len(outputs)
        rows = torch.arange(len(limit), device=limit.device).repeat_interleave(count)
        keys = [(line, output) for line in lines.tolist() for output in outputs]
        found = search_single(step, state.select(rows, rows), limit[rows], partial(self._pick, keys))
        return [list(chain.from_iterable(found[first : first + count])) for first in range(0, len(rows), count)]

    def _pick(self, keys: list[tuple[int, int]], log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:
        """Inverse transform sampling. Drawn on the CPU, so that every device draws the same."""
        seeds = [derive_seed(self.seed, "sampling", *keys[sentence], length) for sentence in sentences.tolist()]
        draws = torch.stack(
            [torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        )
        logits = log_probs.double() / self.temperature
        if self.top_k is not None:
            logits = keep_top_k(logits, self.top_k)
        if self.top_p is not None:
            logits = keep_top_p(logits, self.top_p)
        if self.min_p is not None:
            logits = keep_min_p(logits, self.min_p)
        cumulative = logits.softmax(1).cumsum(1)
        tokens = torch.searchsorted(cumulative, draws.to(log_probs.device) * cumulative[:, -1:], right=True)
        return tokens[:, 0].clamp(max=log_probs.shape[1] - 1)  # rounding may make a draw as large as the last sum
