"""Diverse beam search with Hamming diversity (Vijayakumar et al. 2018, algorithm 1)."""

from itertools import chain, islice, zip_longest
from operator import itemgetter

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.setting_types import Factory, NonNegativeFloat, PositiveInt
from weft.core.state import BankTransitions, Hypothesis, State, StepFunction
from weft.decoding.beam import BatchedBeams, Candidates, StopRule, best_candidates, check_n_best, unfinished_candidates
from weft.decoding.length_penalty import AverageLengthPenalty, LengthPenalty
from weft.decoding.search import NEG_INF, reject_constraints


class DiverseBeamSearch:
    """Vijayakumar et al. 2018, algorithm 1, with Hamming diversity: `groups` beams, together `size` wide.

    At every step the groups choose in turn. The candidates of a group are ordered by

        score of the hypothesis - diversity x number of previous groups' hypotheses just extended by this token

    The penalty affects only this choice: scores remain those of the model. EOS is not penalized. Each group is a beam
    search of its own with its own end. The `n_best` outputs are taken in rounds, the first of each group before the
    second of any, those of a round by ranking score, without duplicates (so there may be fewer), and then sorted by
    it. With one group it is beam search.
    """

    supports_constraints = False

    def __init__(
        self,
        *,
        size: PositiveInt = 6,
        groups: PositiveInt = 3,
        diversity: NonNegativeFloat = 0.5,
        n_best: PositiveInt = 1,
        length_penalty: Factory[LengthPenalty] = AverageLengthPenalty,
        stop_rule: StopRule = "finished",
    ):
        check_n_best(n_best, size)
        if size % groups:
            raise UserError(
                f"the beam size {size} cannot be divided into {groups} equal groups: use a multiple of {groups}"
            )
        self.groups = groups
        self.diversity = diversity
        self.n_best = n_best
        width = size // groups
        self._beams = BatchedBeams(
            groups=groups,
            size=width,
            n_best=min(n_best, width),
            length_penalty=length_penalty(),
            coverage_penalty=0.0,
            stop_rule=stop_rule,
            select=self._select,
        )

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        found = self._beams(step, state, limit)
        return [self._merge(found[first : first + self.groups]) for first in range(0, len(found), self.groups)]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return self._beams.ranking_score(hypothesis)

    def _merge(self, groups: list[list[tuple[float, Hypothesis]]]) -> list[Hypothesis]:
        """The best outputs of the groups of a sentence, taken in turn, each with its ranking score."""
        by_score = itemgetter(0)
        rounds = ([found for found in row if found is not None] for row in zip_longest(*groups))
        distinct: dict[tuple[int, ...], tuple[float, Hypothesis]] = {}
        for score, hypothesis in chain.from_iterable(sorted(row, key=by_score, reverse=True) for row in rounds):
            distinct.setdefault(hypothesis.tokens, (score, hypothesis))
        best = sorted(islice(distinct.values(), self.n_best), key=by_score, reverse=True)
        return [hypothesis for _, hypothesis in best]

    def _select(self, scores: Tensor, log_probs: Tensor, transitions: BankTransitions | None) -> Candidates:
        reject_constraints(transitions)
        width, vocabulary = scores.shape[1], log_probs.shape[1]
        grouped_scores = scores.view(-1, self.groups, width)
        grouped = log_probs.view(-1, self.groups, width, vocabulary)
        counts = log_probs.new_zeros(len(grouped), 1, vocabulary)  # hypotheses just extended by each token
        selected = []
        for group in range(self.groups):
            own_scores, own = grouped_scores[:, group], grouped[:, group]  # [A,K] and [A,K,V]
            # The penalty decides which candidates are taken, and in which order, but not their scores.
            tokens, _, rows = best_candidates(own_scores, (own - self.diversity * counts).flatten(0, 1))
            totals = own_scores.flatten()[rows] + own.flatten(0, 1)[rows, tokens]
            survivors = unfinished_candidates(tokens)
            extended = (totals.gather(1, survivors) > NEG_INF).to(counts.dtype)
            counts = counts.scatter_add(2, tokens.gather(1, survivors)[:, None], extended[:, None])
            # Rows [A,2K] are numbered within one group of each sentence; make them rows of all groups.
            rows = rows // width * (self.groups * width) + group * width + rows % width
            selected.append((tokens, totals, rows))
        return Candidates(*(torch.stack(parts, 1).flatten(0, 1) for parts in zip(*selected, strict=True)))
