"""Backpointers of a search: a record per step, followed back once at the end, and the n best finished hypotheses."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.special_tokens import EOS
from weft.core.state import Hypothesis
from weft.core.tracing import is_tracing, record_tensor
from weft.decoding.search import NEG_INF


class BackpointerStep(NamedTuple):
    """One step of a search: C candidates, each a token that extends one of the N rows of the step function."""

    tokens: Tensor  # [C]
    scores: Tensor  # [C], log-probability of the token alone
    parents: Tensor  # [C], the extended candidate of the previous step; not read in the first step
    rows: Tensor  # [C], the row of the step function that produced the token
    forced: Tensor  # [N], whether EOS was forced
    attention: Tensor | None  # [N,S]


class _HostStep(NamedTuple):
    """A BackpointerStep as lists, which are much faster to walk than tensors."""

    tokens: list[int]
    scores: list[float]
    parents: list[int]
    rows: list[int]
    forced: list[bool]
    attention: Tensor | None


def _to_host(step: BackpointerStep) -> _HostStep:
    tokens, scores, parents, rows, forced = (column.tolist() for column in step[:5])
    return _HostStep(tokens, scores, parents, rows, forced, None if step.attention is None else step.attention.cpu())


def _follow_parents(steps: list[_HostStep], last: int, candidate: int) -> Hypothesis:
    """Return the hypothesis whose last token is this candidate of step `last`."""
    forced = steps[last].forced[steps[last].rows[candidate]]
    tokens, scores, attention = [], [], []
    for step in reversed(steps[: last + 1]):
        tokens.append(step.tokens[candidate])
        scores.append(step.scores[candidate])
        if step.attention is not None:
            attention.append(tuple(step.attention[step.rows[candidate]].tolist()))
        candidate = step.parents[candidate]
    return Hypothesis(
        tokens=tuple(token for token in reversed(tokens) if token != EOS),
        score=sum(reversed(scores)),
        token_scores=tuple(reversed(scores)),
        finished=not forced,
        attention=tuple(reversed(attention)),
    )


class FinishedHypotheses:
    """The `n_best` finished hypotheses of each of B sentences, as positions in the backpointers; ties go to the older.

    scores: [B,n_best], by which they are ordered, best first. counts: [B], all that finished, whether kept or not.
    """

    def __init__(self, sentences: int, n_best: int, device: torch.device):
        self.scores = torch.full((sentences, n_best), NEG_INF, device=device)
        self.counts = torch.zeros(sentences, dtype=torch.long, device=device)
        self._steps = torch.zeros((sentences, n_best), dtype=torch.long, device=device)
        self._candidates = torch.zeros((sentences, n_best), dtype=torch.long, device=device)

    def add(self, sentences: Tensor, scores: Tensor, step: int) -> None:
        """Add the candidates of a step: scores [A,C] for the sentences [A], -inf if a candidate has not finished."""
        candidates = torch.arange(scores.numel(), device=scores.device).view_as(scores)
        steps = torch.full_like(candidates, step)
        n_best = self.scores.shape[1]
        merged = torch.cat([self.scores[sentences], scores], dim=1)
        merged, order = merged.sort(dim=1, descending=True, stable=True)
        order = order[:, :n_best]
        # Out of place: the dtype of the first scores decides, which may be wider than float32.
        self.scores = self.scores.to(merged.dtype).index_copy(0, sentences, merged[:, :n_best])
        self._steps[sentences] = torch.cat([self._steps[sentences], steps], dim=1).gather(1, order)
        self._candidates[sentences] = torch.cat([self._candidates[sentences], candidates], dim=1).gather(1, order)
        self.counts[sentences] += (scores > NEG_INF).sum(1)

    def read(self, backpointers: Sequence[BackpointerStep]) -> list[list[tuple[float, Hypothesis]]]:
        """Return the hypotheses of each sentence with the scores they are ordered by, best first."""
        steps = [_to_host(step) for step in backpointers]
        rows = zip(self.scores.tolist(), self._steps.tolist(), self._candidates.tolist(), strict=True)
        return [
            [
                (score, _follow_parents(steps, last, candidate))
                for score, last, candidate in zip(*row, strict=True)
                if score > NEG_INF
            ]
            for row in rows
        ]


def trace_step(step: BackpointerStep, sentences: Tensor, survives: Tensor, ranking_scores: Tensor) -> None:
    """Record a step for `weft inspect search`, if tensors are traced: one entry per candidate [C] in each tensor.

    sentences: their positions in the batch. survives: whether the candidate is extended in the next step.
    ranking_scores: -inf for a candidate that has not finished.
    """
    if not is_tracing():
        return
    record_tensor("search.tokens", step.tokens)
    record_tensor("search.scores", step.scores)
    record_tensor("search.parents", step.parents)
    record_tensor("search.sentences", sentences)
    record_tensor("search.kept", survives)
    record_tensor("search.ranking_scores", ranking_scores)
    record_tensor("search.finished", ranking_scores > NEG_INF)
