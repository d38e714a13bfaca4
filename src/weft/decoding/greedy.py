"""Greedy search, and the loop over one hypothesis per sentence that greedy search and sampling share."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from weft.core.special_tokens import BOS, EOS
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.backpointers import BackpointerStep, FinishedHypotheses, trace_step
from weft.decoding.search import NEG_INF, mask_invalid_tokens, reject_constraints

# log-probabilities [A,V], positions of the sentences in the batch [A], tokens so far -> next tokens [A]
TokenPicker: TypeAlias = Callable[[Tensor, Tensor, int], Tensor]


def search_single(step: StepFunction, state: State, limit: Tensor, pick: TokenPicker) -> list[list[Hypothesis]]:
    """Return one hypothesis per sentence, none if it has probability zero; finished sentences leave the batch."""
    # The A unfinished sentences: positions in the batch, last tokens, scores, positions in the last backpointer step.
    sentences = candidates = torch.arange(len(limit), device=limit.device)
    tokens, scores = torch.full_like(sentences, BOS), torch.zeros(len(limit), device=limit.device)
    backpointers: list[BackpointerStep] = []
    finished = FinishedHypotheses(len(limit), 1, limit.device)
    while len(sentences):
        length = len(backpointers)
        output, state = step(tokens, state)
        reject_constraints(output.bank_transitions)
        log_probs, forced = mask_invalid_tokens(output.log_probs, limit[sentences] <= length)
        tokens = pick(log_probs, sentences, length)
        token_scores = log_probs.gather(1, tokens[:, None])[:, 0]
        rows = torch.arange(len(tokens), device=tokens.device)
        latest = BackpointerStep(tokens, token_scores, candidates, rows, forced, output.attention)
        backpointers.append(latest)
        scores = scores + token_scores
        ended = scores.masked_fill(tokens != EOS, NEG_INF)
        finished.add(sentences, ended[:, None], length)
        unfinished = (tokens != EOS) & (scores > NEG_INF)
        trace_step(latest, sentences, unfinished, ended)
        candidates = unfinished.nonzero()[:, 0]
        if len(candidates) < len(tokens):
            sentences, tokens, scores = sentences[candidates], tokens[candidates], scores[candidates]
            state = state.select(candidates, candidates)
    return [[hypothesis for _, hypothesis in found] for found in finished.read(backpointers)]


class GreedySearch:
    """Takes the most probable token at every step, the lowest id of equal ones: one hypothesis per sentence."""

    supports_constraints = False

    @torch.no_grad()
    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        return search_single(step, state, limit, lambda log_probs, *_: log_probs.max(1).indices)

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score
