"""Diverse beam search: several narrow beams side by side, each of which avoids what those before it have just said."""

from collections.abc import Iterable
from itertools import chain, islice, zip_longest
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, Steer, Step
from weft.core.types import Count, Make
from weft.search.allowed import IMPOSSIBLE
from weft.search.beam import check_best
from weft.search.beams import Beams
from weft.search.candidates import Candidates, going_on, likeliest
from weft.search.rankings import Average, Ranking, Strength
from weft.search.steering import refuse
from weft.search.stopping import Stop


class _Found(NamedTuple):
    rank: float
    hypothesis: Hypothesis


class DiverseBeam:
    """Vijayakumar et al. 2018, algorithm 1, with the Hamming diversity: `groups` beams, together `size` wide.

    At every step the groups choose one after the other. A group's candidates are ordered by

        score of the hypothesis - diversity x how many hypotheses of the groups before it go on with this token now

    which counts for this choice alone: scores stay the model's. No group is kept from ending because another did. Each
    group is a beam search of its own, which stops by itself. The `best` outputs are taken in rounds, the first of each
    group before the second of any, those of a round by their ranks, and no output twice (so there may be fewer); then
    all are put in the order of their ranks. With one group it is beam search.
    """

    can_require = False

    def __init__(
        self,
        *,
        size: Count = 6,
        groups: Count = 3,
        diversity: Strength = 0.5,
        best: Count = 1,
        length_penalty: Make[Ranking] = Average,
        stop: Stop = "finished",
    ):
        check_best(best, size)
        if size % groups:
            raise UserError(
                f"the beam's size is {size}, but its {groups} groups are of one size: write a multiple of {groups}"
            )
        self.groups = groups
        self.diversity = diversity
        self.best = best
        width = size // groups
        self._beams = Beams(groups, width, min(best, width), length_penalty(), 0.0, stop, self._choose)

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        finished, trail = self._beams(step, state, limit)
        found = [
            [_Found(end.rank, hypothesis) for end, hypothesis in zip(ends, hypotheses, strict=True)]
            for ends, hypotheses in zip(finished.ends(), finished.read(trail), strict=True)
        ]
        return [self._merged(found[first : first + self.groups]) for first in range(0, len(found), self.groups)]

    def rank(self, hypothesis: Hypothesis) -> float:
        return self._beams.rank(hypothesis)

    def _merged(self, groups: list[list[_Found]]) -> list[Hypothesis]:
        """The best outputs of a sentence's groups, which take turns."""
        rounds = ([found for found in row if found is not None] for row in zip_longest(*groups))
        different: dict[tuple[int, ...], _Found] = {}
        for found in chain.from_iterable(_by_rank(row) for row in rounds):
            different.setdefault(found.hypothesis.tokens, found)
        return [found.hypothesis for found in _by_rank(islice(different.values(), self.best))]

    def _choose(self, scores: Tensor, log_probs: Tensor, steer: Steer | None) -> Candidates:
        """Group after group, each with what the groups before it go on with."""
        refuse(steer)
        width, vocabulary = scores.shape[1], log_probs.shape[1]
        grouped_scores = scores.view(-1, self.groups, width)
        grouped = log_probs.view(-1, self.groups, width, vocabulary)
        said = log_probs.new_zeros(len(grouped), 1, vocabulary)  # how many go on with each token
        chosen = []
        for group in range(self.groups):
            candidates = self._choose_group(grouped_scores[:, group], grouped[:, group], said)
            said = said + _counted(candidates, said)
            chosen.append(candidates._replace(rows=_rows_among_all(candidates.rows, group, self.groups, width)))
        tokens, totals, rows = (torch.stack(parts, 1).flatten(0, 1) for parts in zip(*chosen, strict=True))
        return Candidates(tokens, totals, rows)

    def _choose_group(self, scores: Tensor, log_probs: Tensor, said: Tensor) -> Candidates:
        """Of scores [A,K] and log_probs [A,K,V]: ordered with the penalty, but scored without it."""
        tokens, _, rows = likeliest(scores, (log_probs - self.diversity * said).flatten(0, 1))
        return Candidates(tokens, scores.flatten()[rows] + log_probs.flatten(0, 1)[rows, tokens], rows)


def _by_rank(found: Iterable[_Found]) -> list[_Found]:
    return sorted(found, key=lambda one: -one.rank)


def _counted(candidates: Candidates, said: Tensor) -> Tensor:
    """How many hypotheses of a group go on with each token [A,1,V]."""
    places = going_on(candidates.tokens)
    going = candidates.scores.gather(1, places) > IMPOSSIBLE
    tokens = candidates.tokens.gather(1, places)
    return torch.zeros_like(said[:, 0]).scatter_add_(1, tokens, going.to(said.dtype))[:, None]


def _rows_among_all(rows: Tensor, group: int, groups: int, width: int) -> Tensor:
    """Rows [A,2K] counted among those of one group in each sentence, as they are counted among all groups' rows."""
    return rows // width * (groups * width) + group * width + rows % width
