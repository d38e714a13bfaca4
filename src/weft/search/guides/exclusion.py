"""Outputs in which given runs of tokens never stand."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor

from weft.core.marks import PAD
from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside, for_each
from weft.search.guides.phrases import Phrase, Phrases


class _Said(NamedTuple):
    """Of each hypothesis."""

    begun: Tensor  # [N,P,L]
    fed: Tensor  # [N], the tokens so far, BEGIN among them


def exclude(
    step: Step, state: State, excluded: Sequence[Sequence[Phrase]], joins: Tensor, limit: Tensor
) -> tuple[Step, State]:
    """None of a sentence's phrases stands in its outputs.

    The last token of a phrase is forbidden after the others. Of a bounded phrase it is what follows that is forbidden:
    whatever does not join on to it (joins [V]), END too; only at the limit [B], where END must come next, is it the
    last token itself.
    """
    if not any(excluded):
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        phrases, limits = cast(tuple[Phrases, Tensor], own.memory)
        phrases, said = phrases.of_hypotheses(len(tokens)), cast(_Said, own.carry)
        said = _Said(phrases.follow(said.begun, tokens), said.fed + 1)
        room = for_each(limits, len(tokens)) + 1 - said.fed
        forbidden = _ends_word(phrases, said.begun)[:, None] & ~joins
        forbidden = forbidden | _last_tokens(phrases, said.begun, room, forbidden)
        return scores._replace(log_probs=scores.log_probs.masked_fill(forbidden, IMPOSSIBLE)), said

    phrases = Phrases.of(excluded, limit.device)
    return beside(step, state, State((phrases, limit), _Said(phrases.unbegun(), torch.zeros_like(limit))), advise)


def _ends_word(phrases: Phrases, begun: Tensor) -> Tensor:
    """[N], whether a bounded phrase stands at the end, so that something must join on to it."""
    return (phrases.complete(begun) & phrases.bounded).any(1)


def _last_tokens(phrases: Phrases, begun: Tensor, room: Tensor, like: Tensor) -> Tensor:
    """[N,V], the tokens that would complete a phrase which nothing could undo, room [N] being left for tokens."""
    before = torch.cat([torch.ones_like(begun[..., :1]), begun], dim=-1)  # [N,P,L+1], by how many have been said
    last = (phrases.lengths - 1).clamp(min=0)[..., None]
    nearly = before.gather(2, last)[..., 0] & (phrases.lengths > 0)
    final = nearly & (~phrases.bounded | (room <= 1)[:, None])
    tokens = phrases.tokens.gather(2, last)[..., 0].masked_fill(~final, PAD)
    marked = torch.zeros_like(like).scatter(1, tokens, True)
    marked[:, PAD] = False
    return marked
