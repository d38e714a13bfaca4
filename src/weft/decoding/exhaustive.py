"""Exact depth-first search with an admissible bound (Stahlberg & Byrne 2019), for small models and short limits."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.setting_types import Factory, PositiveInt
from weft.core.special_tokens import BOS, EOS
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.length_penalty import AverageLengthPenalty, LengthPenalty, penalized_score
from weft.decoding.search import NEG_INF, mask_invalid_tokens


class _Prefix(NamedTuple):
    """The first tokens of an output."""

    tokens: tuple[int, ...]
    token_scores: tuple[float, ...]
    attention: tuple[tuple[float, ...], ...]
    state: State  # before the last token is fed

    @property
    def score(self) -> float:
        return sum(self.token_scores)

    def append(self, token: int, score: float) -> _Prefix:
        return self._replace(tokens=(*self.tokens, token), token_scores=(*self.token_scores, score))


class ExhaustiveSearch:
    """Finds the `n_best` outputs of all by `length_penalty`; the time may grow as V^limit.

    Only prefixes that cannot outrank the outputs found so far are pruned, which is exact where scores are
    log-probabilities. Required phrases need no banks here: nothing is pruned for being improbable.
    """

    supports_constraints = True

    def __init__(self, *, n_best: PositiveInt = 1, length_penalty: Factory[LengthPenalty] = AverageLengthPenalty):
        self.n_best = n_best
        self.length_penalty = length_penalty()

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        rows = torch.arange(len(limit), device=limit.device)[:, None]
        return [self._search(step, state.select(row, row), limit[row]) for row in rows]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return penalized_score(self.length_penalty, hypothesis.score, len(hypothesis.token_scores))

    def _search(self, step: StepFunction, state: State, limit: Tensor) -> list[Hypothesis]:
        """Search depth-first for one sentence, the most probable token first; limit [1]."""
        found: list[tuple[float, Hypothesis]] = []  # `n_best` with their ranking scores, best first
        stack = [_Prefix((), (), (), state)]
        while stack:
            prefix = stack.pop()
            # Scores can only fall: the ranking score at the maximum length bounds that of all outputs with this prefix.
            bound = penalized_score(self.length_penalty, prefix.score, int(limit) + 1)
            if len(found) == self.n_best and bound <= found[-1][0]:
                continue
            output, state = step(torch.tensor([BOS, *prefix.tokens][-1:], device=limit.device), prefix.state)
            log_probs, forced = mask_invalid_tokens(output.log_probs, limit <= len(prefix.tokens))
            scores: list[float] = log_probs[0].tolist()
            attention = () if output.attention is None else (tuple(output.attention[0].tolist()),)
            prefix = prefix._replace(state=state, attention=prefix.attention + attention)
            if scores[EOS] > NEG_INF:
                ended = prefix.append(EOS, scores[EOS])
                hypothesis = Hypothesis(
                    prefix.tokens, ended.score, ended.token_scores, not forced.item(), prefix.attention
                )
                found.append((self.ranking_score(hypothesis), hypothesis))
                found.sort(key=lambda pair: -pair[0])  # stable: ties go to the older
                del found[self.n_best :]
            possible = [token for token, score in enumerate(scores) if score > NEG_INF and token != EOS]
            possible.sort(key=lambda token: (scores[token], -token))  # the stack returns the last first
            stack.extend(prefix.append(token, scores[token]) for token in possible)
        return [hypothesis for _, hypothesis in found]
