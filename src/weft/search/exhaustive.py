"""Exact search: the best outputs there are, for small models and short limits."""

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.marks import BEGIN, END
from weft.core.state import Hypothesis, State, Step
from weft.core.types import Count, Make
from weft.search.allowed import IMPOSSIBLE, allowed
from weft.search.rankings import Average, Ranking, rank_of


class _Prefix(NamedTuple):
    """The beginning of an output."""

    tokens: tuple[int, ...]
    token_scores: tuple[float, ...]
    attention: tuple[tuple[float, ...], ...]
    state: State  # before the last token is given to the step function

    @property
    def score(self) -> float:
        return sum(self.token_scores)


class _Search:
    """The search for one sentence, depth first, the most probable token first (Stahlberg and Byrne 2019)."""

    def __init__(self, step: Step, limit: Tensor, best: int, ranking: Ranking):
        self.step = step
        self.limit = limit  # [1]
        self.longest = int(limit) + 1  # END counted
        self.best = best
        self.ranking = ranking
        self.found: list[tuple[float, Hypothesis]] = []  # at most `best`, best first, with what they are ranked by

    def run(self, state: State) -> list[Hypothesis]:
        waiting = [_Prefix((), (), (), state)]
        while waiting:
            prefix = waiting.pop()
            if self._can_win(prefix):
                waiting.extend(self._extend(prefix))
        return [hypothesis for _, hypothesis in self.found]

    def _can_win(self, prefix: _Prefix) -> bool:
        """A score can only fall, so its rank at the length of the longest output is the most a prefix can reach."""
        return len(self.found) < self.best or self._rank(prefix.score, self.longest) > self.found[-1][0]

    def _rank(self, score: float, length: int) -> float:
        return float(self.ranking(*torch.tensor([score, length], dtype=torch.float64)))

    def _extend(self, prefix: _Prefix) -> list[_Prefix]:
        """Keep the output that ends here, if it is good; give the prefixes one token longer, the best last."""
        last = torch.tensor([BEGIN, *prefix.tokens][-1:], device=self.limit.device)
        said, state = self.step(last, prefix.state)
        log_probs, forced = allowed(said.log_probs, self.limit <= len(prefix.tokens))
        scores: list[float] = log_probs[0].tolist()
        looks = () if said.attention is None else (tuple(said.attention[0].tolist()),)
        prefix = prefix._replace(state=state, attention=prefix.attention + looks)
        possible = [token for token, score in enumerate(scores) if score > IMPOSSIBLE]
        if END in possible:
            self._keep(_longer(prefix, END, scores[END]), finished=not forced.item())
        going = sorted((token for token in possible if token != END), key=lambda token: (scores[token], -token))
        return [_longer(prefix, token, scores[token]) for token in going]

    def _keep(self, ended: _Prefix, finished: bool) -> None:
        hypothesis = Hypothesis(ended.tokens[:-1], ended.score, ended.token_scores, finished, ended.attention)
        self.found.append((self._rank(ended.score, len(ended.tokens)), hypothesis))
        self.found.sort(key=lambda pair: -pair[0])  # stable: of equals the older stays first
        del self.found[self.best :]


class Exhaustive:
    """The `best` outputs of all, by what `length_penalty` makes of score and length; time may grow as V^limit.

    Only prefixes that can no longer reach the outputs found are left out; that is exact where the step's scores are
    log-probabilities (none above 0). What must be said needs no banks here, since nothing is left out for being
    improbable.
    """

    can_require = True

    def __init__(self, *, best: Count = 1, length_penalty: Make[Ranking] = Average):
        self.best = best
        self.ranking = length_penalty()

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        rows = torch.arange(len(limit), device=limit.device)[:, None]
        return [_Search(step, limit[row], self.best, self.ranking).run(state.select(row, row)) for row in rows]

    def rank(self, hypothesis: Hypothesis) -> float:
        return rank_of(hypothesis, self.ranking)


def _longer(prefix: _Prefix, token: int, score: float) -> _Prefix:
    return prefix._replace(tokens=(*prefix.tokens, token), token_scores=(*prefix.token_scores, score))
