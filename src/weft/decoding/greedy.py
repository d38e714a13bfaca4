"""Greedy search, and the loop over one hypothesis per sentence that greedy search and sampling share."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from weft.core.codec import BOS, EOS
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.backpointers import BackpointerStep, FinishedHypotheses, trace_step
from weft.decoding.search import NEG_INF, mask_invalid_tokens, reject_constraints

# log-probabilities [A,V], positions of the sentences in the batch [A], tokens so far -> next tokens [A]
TokenPicker: TypeAlias = Callable[[Tensor, Tensor, int], Tensor]


class _ActiveSentences(NamedTuple):
    """The A unfinished sentences, one row each."""

    sentences: Tensor  # [A], positions in the batch
    tokens: Tensor  # [A], the last ones
    scores: Tensor  # [A]
    candidates: Tensor  # [A], positions in the last backpointer step
    state: State


def search_single(step: StepFunction, state: State, limit: Tensor, pick: TokenPicker) -> list[list[Hypothesis]]:
    """Return one hypothesis per sentence, none if it has probability zero; finished sentences leave the batch."""
    sentences = torch.arange(len(limit), device=limit.device)
    scores = torch.zeros(len(limit), device=limit.device)
    active = _ActiveSentences(sentences, torch.full_like(sentences, BOS), scores, sentences, state)
    backpointers: list[BackpointerStep] = []
    finished = FinishedHypotheses(len(limit), 1, limit.device)
    while len(active.sentences):
        length = len(backpointers)
        output, state = step(active.tokens, active.state)
        reject_constraints(output.bank_transitions)
        log_probs, forced = mask_invalid_tokens(output.log_probs, limit[active.sentences] <= length)
        tokens = pick(log_probs, active.sentences, length)
        token_scores = log_probs.gather(1, tokens[:, None])[:, 0]
        rows = torch.arange(len(tokens), device=tokens.device)
        made = BackpointerStep(tokens, token_scores, active.candidates, rows, forced, output.attention)
        backpointers.append(made)
        scores = active.scores + token_scores
        ended = scores.masked_fill(tokens != EOS, NEG_INF)
        finished.add(active.sentences, ended[:, None], length)
        unfinished = (tokens != EOS) & (scores > NEG_INF)
        trace_step(made, active.sentences, unfinished, ended)
        rows = unfinished.nonzero()[:, 0]
        active = (
            _ActiveSentences(active.sentences, tokens, scores, rows, state)
            if len(rows) == len(tokens)
            else _ActiveSentences(active.sentences[rows], tokens[rows], scores[rows], rows, state.select(rows, rows))
        )
    return [[hypothesis for _, hypothesis in found] for found in finished.read(backpointers)]


class GreedySearch:
    """Takes the most probable token at every step, the lowest id of equal ones: one hypothesis per sentence."""

    supports_constraints = False

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        return search_single(step, state, limit, lambda log_probs, sentences, length: log_probs.max(1).indices)  # noqa: ARG005

    def rank(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score
