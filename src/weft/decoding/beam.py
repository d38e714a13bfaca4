"""Batched beam search, with dynamic beam allocation for lexical constraints (Post & Vilar 2018).

Shapes: A sentences are still searched, each with G beams (1 except in diverse beam search), U = A G; each beam holds
K hypotheses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.setting_types import Factory, NonNegativeFloat, PositiveInt
from weft.core.special_tokens import BOS, EOS
from weft.core.state import BankTransitions, Hypothesis, State, StepFunction, tree_select
from weft.decoding.backpointers import BackpointerStep, FinishedHypotheses, trace_step
from weft.decoding.length_penalty import (
    AverageLengthPenalty,
    LengthPenalty,
    accumulate_attention,
    coverage_scores,
    hypothesis_coverage,
    penalized_score,
)
from weft.decoding.search import NEG_INF, mask_invalid_tokens, stable_topk

StopRule: TypeAlias = Literal["finished", "limit", "first", "top"]


class BeamState(NamedTuple):
    """The unfinished hypotheses."""

    beams: Tensor  # [U], indices of the beams: G times the position of the sentence in the batch, plus 0 ... G - 1
    tokens: Tensor  # [U,K], the last ones
    scores: Tensor  # [U,K], -inf where there are fewer than K hypotheses
    parents: Tensor  # [U,K], positions in the last backpointer step
    attention: Tensor | None  # [U*K,S], summed over the steps, if there is a coverage penalty
    state: State


class Candidates(NamedTuple):
    """2K extensions of each of U beams of K hypotheses, in the order in which they are taken."""

    tokens: Tensor  # [U,2K]
    scores: Tensor  # [U,2K], of the whole hypothesis
    rows: Tensor  # [U,2K], the rows among the U K hypotheses that they extend


CandidateSelector: TypeAlias = Callable[[Tensor, Tensor, BankTransitions | None], Candidates]
# scores of the hypotheses [U,K], log-probabilities of the next tokens [U*K,V], bank transitions -> candidates


def beam_offsets(beams: Tensor, width: int) -> Tensor:
    """[U,1]: the first row of each of the beams [U,...] if each has `width` rows."""
    return torch.arange(len(beams), device=beams.device)[:, None] * width


def best_candidates(scores: Tensor, log_probs: Tensor) -> Candidates:
    """Return the 2K best of the K V extensions of each beam: at most K are EOS, so that K unfinished ones remain."""
    beams, size = scores.shape
    token_scores, tokens = stable_topk(log_probs, 2 * size)  # [U*K,2K]: no row can have more among the best
    width = tokens.shape[1]
    totals = scores.flatten()[:, None] + token_scores
    totals, positions = stable_topk(totals.view(beams, -1), 2 * size)
    positions = positions + beam_offsets(totals, size * width)
    return Candidates(tokens.flatten()[positions], totals, positions // width)


def greedy_first_candidates(scores: Tensor, log_probs: Tensor) -> Candidates:
    """Return the best candidates, but first the most probable extension of the first hypothesis of each beam."""
    candidates = best_candidates(scores, log_probs)
    rows = beam_offsets(scores, scores.shape[1])  # [U,1]
    token_scores, tokens = log_probs[rows[:, 0]].max(1, keepdim=True)
    duplicates = (candidates.tokens == tokens) & (candidates.rows == rows)
    others = duplicates.byte().argsort(dim=1, stable=True)[:, :-1]  # without the duplicate, or without the last
    first = tokens, scores[:, :1] + token_scores, rows
    parts = zip(first, candidates, strict=True)
    return Candidates(*(torch.cat([greedy, rest.gather(1, others)], dim=1) for greedy, rest in parts))


def unfinished_candidates(tokens: Tensor) -> Tensor:
    """[U,K]: the positions of the first K candidates [U,2K] that are not EOS, in their order."""
    ended = (tokens == EOS).byte()
    return ended.argsort(dim=1, stable=True)[:, : tokens.shape[1] // 2]


def bank_candidates(scores: Tensor, log_probs: Tensor, transitions: BankTransitions) -> Candidates:
    """Return 2K candidates of each beam, divided among banks as in Post & Vilar 2018; but here banks take turns, where
    the paper gives each bank an equal number of places.

    Required tokens are rarely probable, so the best candidates alone would leave them out until the limit. A
    candidate's bank is the number of required tokens that it contains. The candidates, the 2K best tokens of each
    hypothesis and the tokens that lead to another bank, are taken in rounds: the best of every bank, then the second
    of every bank, and so on; within a round the highest bank first, then by score.
    """
    beams, size = scores.shape
    best_scores, best = stable_topk(log_probs, 2 * size)  # [U*K,2K]
    tokens = torch.cat([best, transitions.tokens], dim=1)  # [U*K,C]
    token_scores = torch.cat([best_scores, log_probs.gather(1, transitions.tokens)], dim=1)
    duplicates = (tokens[:, :, None] == tokens[:, None, :]).tril(-1).any(2)
    token_scores = token_scores.masked_fill(duplicates, NEG_INF)
    totals = (scores.flatten()[:, None] + token_scores).view(beams, -1)  # [U,K*C]
    order = _bank_order(totals, _next_banks(tokens, transitions).view(beams, -1))[:, : 2 * size]
    rows = order // tokens.shape[1] + beam_offsets(scores, size)
    return Candidates(tokens.view(beams, -1).gather(1, order), totals.gather(1, order), rows)


def _next_banks(tokens: Tensor, transitions: BankTransitions) -> Tensor:
    """The bank after each token [N,C]."""
    equal = tokens[:, :, None] == transitions.tokens[:, None, :]  # [N,C,W]
    others = transitions.other_bank[:, None].expand_as(tokens)
    if not transitions.tokens.shape[1]:
        return others
    return torch.where(equal.any(2), transitions.banks.gather(1, equal.byte().argmax(2)), others)


def _bank_order(totals: Tensor, banks: Tensor) -> Tensor:
    """The order in which candidates [U,C] are taken; impossible ones come last."""
    possible = totals > NEG_INF
    highest = banks.masked_fill(~possible, -1).amax(1, keepdim=True)
    order = totals.argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, (banks.gather(1, order) != highest).byte().argsort(dim=1, stable=True))
    rounds = _rounds(banks.gather(1, order)).masked_fill(~possible.gather(1, order), totals.shape[1])
    return order.gather(1, rounds.argsort(dim=1, stable=True))


def _rounds(banks: Tensor) -> Tensor:
    """The round in which each candidate [U,C] is taken: the number of candidates of its bank before it."""
    order = banks.argsort(dim=1, stable=True)
    ordered = banks.gather(1, order)
    positions = torch.arange(banks.shape[1], device=banks.device).expand_as(banks)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = positions.masked_fill(~starts, 0).cummax(1).values
    return torch.empty_like(banks).scatter_(1, order, positions - first)


class _BeamStep(NamedTuple):
    """The result of one step."""

    candidates: Candidates
    backpointers: BackpointerStep
    attention: Tensor | None  # [U*K,S], summed up to and including this step, if there is a coverage penalty
    state: State  # its rows not yet reordered


@dataclass(frozen=True, kw_only=True)
class BatchedBeams:
    """The search loop of beam search and diverse beam search: `groups` beams per sentence, each of `size` hypotheses.

    A step makes 2K candidates for each beam. Those of the first K that are EOS finish a hypothesis; the first K others
    are extended. A beam is done by `stop_rule`, and a sentence leaves the batch when all its beams are done:

    - "finished": `size` hypotheses have finished. Bahdanau et al. 2015 (whose beam shrinks with each), fairseq, and
      transformers with `early_stopping=True`.
    - "limit": no unfinished hypothesis can outrank the last of the `n_best` finished ones, even at the length limit.
      Exact where scores are log-probabilities. tensor2tensor, and transformers with `early_stopping="never"`.
    - "first": `n_best` hypotheses have finished. Sockeye's `beam_search_stop: first`.
    - "top": the best candidate of a step is EOS, and `n_best` hypotheses have finished. OpenNMT-py.
    """

    groups: int
    size: int
    n_best: int
    length_penalty: LengthPenalty
    coverage_penalty: float
    stop_rule: StopRule
    select: CandidateSelector

    def __call__(self, step: StepFunction, state: State, limit: Tensor) -> list[list[tuple[float, Hypothesis]]]:
        """Return the finished hypotheses of each of the B x groups beams with their ranking scores, best first."""
        live = self._initial_beams(state, len(limit), limit.device)
        limit = limit.repeat_interleave(self.groups)
        backpointers: list[BackpointerStep] = []
        finished = FinishedHypotheses(len(limit), self.n_best, limit.device)
        while len(live.beams):
            result = self._extend(step, live, limit[live.beams] <= len(backpointers))
            backpointers.append(result.backpointers)
            ranking_scores = self._ranking_scores(result, len(backpointers))
            finished.add(live.beams, ranking_scores, len(backpointers) - 1)
            survivors = unfinished_candidates(result.candidates.tokens)
            self._trace(live, result, ranking_scores, survivors)
            live = _advance_beams(live, result, survivors)
            live = self._drop_finished(live, self._are_done(live, result, finished, limit[live.beams]))
        return finished.read(backpointers)

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        """Return the score of a finished hypothesis after all penalties."""
        score = penalized_score(self.length_penalty, hypothesis.score, len(hypothesis.token_scores))
        return score + self.coverage_penalty * hypothesis_coverage(hypothesis) if self.coverage_penalty else score

    def _initial_beams(self, state: State, sentences: int, device: torch.device) -> BeamState:
        """K copies of the initial state in each beam; all but the first score -inf."""
        tokens = torch.full((sentences * self.groups, self.size), BOS, device=device)
        scores = torch.full((sentences * self.groups, self.size), NEG_INF, device=device)
        scores[:, 0] = 0
        rows = torch.arange(sentences, device=device)
        state = state.select(rows, rows.repeat_interleave(self.groups * self.size))
        beams = torch.arange(len(tokens), device=device)
        return BeamState(beams, tokens, scores, torch.zeros_like(tokens), None, state)

    def _extend(self, step: StepFunction, live: BeamState, at_limit: Tensor) -> _BeamStep:
        """Run the step function on all hypotheses and select the candidates of each beam."""
        output, state = step(live.tokens.flatten(), live.state)
        log_probs, forced = mask_invalid_tokens(output.log_probs, at_limit.repeat_interleave(self.size))
        candidates = self.select(live.scores, log_probs, output.bank_transitions)
        tokens, rows = candidates.tokens.flatten(), candidates.rows.flatten()
        parents = live.parents.flatten()[rows]
        backpointers = BackpointerStep(tokens, log_probs[rows, tokens], parents, rows, forced, output.attention)
        sums = accumulate_attention(live.attention, output.attention) if self.coverage_penalty else None
        return _BeamStep(candidates, backpointers, sums, state)

    def _ranking_scores(self, result: _BeamStep, length: int) -> Tensor:
        """[U,2K], -inf where a candidate is not EOS, or is not among the first K."""
        ended = result.candidates.tokens == EOS
        ended[:, self.size :] = False
        scores = self.length_penalty(result.candidates.scores, torch.full_like(result.candidates.scores, length))
        if result.attention is not None:
            scores = scores + self.coverage_penalty * coverage_scores(result.attention, result.candidates.rows)
        return scores.masked_fill(~ended, NEG_INF)

    def _are_done(self, live: BeamState, result: _BeamStep, finished: FinishedHypotheses, limit: Tensor) -> Tensor:
        """[U]: by the stop rule, or because no possible hypothesis is left."""
        best = live.scores.amax(1)
        reachable = self.length_penalty(best, (limit + 1).to(best.dtype))  # a coverage score is at most 0
        last = finished.scores[live.beams, -1]
        exhausted, enough = ~(reachable > NEG_INF), last > NEG_INF
        match self.stop_rule:
            case "finished":
                return exhausted | (finished.counts[live.beams] >= self.size)
            case "limit":
                return exhausted | (reachable <= last)
            case "first":
                return exhausted | enough
            case "top":
                top = result.candidates.scores.argmax(1, keepdim=True)
                return exhausted | (enough & (result.candidates.tokens.gather(1, top) == EOS)[:, 0])

    def _drop_finished(self, live: BeamState, done: Tensor) -> BeamState:
        """Remove sentences all of whose beams are done [U], and the hypotheses of beams that wait for others."""
        if not done.any():
            return live
        active = (~done).view(-1, self.groups).any(1)  # [A]
        scores = live.scores.masked_fill(done[:, None], NEG_INF)
        if active.all():
            return live._replace(scores=scores)
        sentences = active.nonzero()[:, 0]
        kept_beams = active.repeat_interleave(self.groups).nonzero()[:, 0]
        rows = (beam_offsets(done, self.size) + torch.arange(self.size, device=done.device))[kept_beams].flatten()
        return BeamState(
            live.beams[kept_beams],
            live.tokens[kept_beams],
            scores[kept_beams],
            live.parents[kept_beams],
            None if live.attention is None else live.attention[rows],
            live.state.select(sentences, rows),
        )

    def _trace(self, live: BeamState, result: _BeamStep, ranking_scores: Tensor, survivors: Tensor) -> None:
        scores = result.candidates.scores
        extended = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, survivors, 1) & (scores > NEG_INF)
        sentences = (live.beams // self.groups).repeat_interleave(scores.shape[1])
        trace_step(result.backpointers, sentences, extended.flatten(), ranking_scores.flatten())


def _advance_beams(live: BeamState, result: _BeamStep, survivors: Tensor) -> BeamState:
    """The candidates at the positions `survivors` [U,K], with their carry rows."""
    candidates = result.candidates
    rows = candidates.rows.gather(1, survivors).flatten()
    memory, carry = result.state
    return BeamState(
        live.beams,
        candidates.tokens.gather(1, survivors),
        candidates.scores.gather(1, survivors),
        survivors + beam_offsets(live.beams, candidates.tokens.shape[1]),
        None if result.attention is None else result.attention[rows],
        # Not state.select: memory keeps its rows, and a copy of it at every step would cost more than the search.
        State(memory, tree_select(carry, rows)),
    )


class BeamSearch:
    """Batched beam search with `size` hypotheses per sentence; returns the `n_best` finished ones.

    Hypotheses are extended by their summed log-probability. Finished ones are ordered by `length_penalty`, plus
    `coverage_penalty` times their coverage score. `stop_rule`: see BatchedBeams. Where phrases are required, the beam
    is divided among banks (`bank_candidates`).

    A beam can lose the output of greedy search where K other prefixes are more probable. With `keep_greedy` the first
    hypothesis is always extended by its most probable token (except where the beam is divided among banks); with the
    stop rule `limit`, the best output then never ranks below that of greedy search.
    """

    supports_constraints = True

    def __init__(
        self,
        *,
        size: PositiveInt = 5,
        n_best: PositiveInt = 1,
        length_penalty: Factory[LengthPenalty] = AverageLengthPenalty,
        coverage_penalty: NonNegativeFloat = 0.0,
        stop_rule: StopRule = "finished",
        keep_greedy: bool = False,
    ):
        check_n_best(n_best, size)
        self._select_unconstrained = greedy_first_candidates if keep_greedy else best_candidates
        self._beams = BatchedBeams(
            groups=1,
            size=size,
            n_best=n_best,
            length_penalty=length_penalty(),
            coverage_penalty=coverage_penalty,
            stop_rule=stop_rule,
            select=self._select,
        )

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        return [[hypothesis for _, hypothesis in found] for found in self._beams(step, state, limit)]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return self._beams.ranking_score(hypothesis)

    def _select(self, scores: Tensor, log_probs: Tensor, transitions: BankTransitions | None) -> Candidates:
        if transitions is None:
            return self._select_unconstrained(scores, log_probs)
        return bank_candidates(scores, log_probs, transitions)


def check_n_best(n_best: int, size: int) -> None:
    """Raise UserError if more outputs are requested than the beam holds."""
    if n_best > size:
        raise UserError(f"n_best is {n_best} but the beam size is {size}: lower n_best to {size}, or widen the beam")
