"""Match token phrases in all hypotheses while they grow, by the Shift-And algorithm (Baeza-Yates & Gonnet 1992), and
exclude them from outputs (negative lexical constraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.special_tokens import PAD
from weft.core.state import State, StepFunction, StepOutput, TensorTree
from weft.decoding.constraints.step_constraints import mask_of_tokens, repeat_per_hypothesis, wrap_step
from weft.decoding.search import NEG_INF


class TokenPhrase(NamedTuple):
    """Consecutive tokens. If the first is BOS, they are the first of an output.

    bounded: the phrase must end at the end of a word; a token that continues its last word makes it another word.
    """

    tokens: tuple[int, ...]
    bounded: bool = False


class PhraseBatch(NamedTuple):
    """The phrases of a batch of sentences, P of each, padded with empty ones.

    The state of the matching is a mask `matches` [...,P,L]: whether the last l + 1 tokens of a hypothesis are the first
    l + 1 tokens of the phrase.
    """

    tokens: Tensor  # [B,P,L], PAD after the last
    lengths: Tensor  # [B,P]
    bounded: Tensor  # [B,P]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[TokenPhrase]], device: torch.device) -> PhraseBatch:
        """Make a batch from the phrases of each sentence; at least one sentence must have some."""
        shape = len(rows), max(map(len, rows))  # B, P
        phrases = [phrase for row in rows for phrase in (*row, *[TokenPhrase(())] * (shape[1] - len(row)))]
        tokens = Padded.from_rows([phrase.tokens for phrase in phrases]).to(device)
        bounded = torch.tensor([phrase.bounded for phrase in phrases], device=device)
        return cls(tokens.data.view(*shape, -1), tokens.lengths().view(shape), bounded.view(shape))

    def no_matches(self) -> Tensor:
        """[B,P,L], before the first token."""
        return torch.zeros_like(self.tokens, dtype=torch.bool)

    def for_hypotheses(self, count: int) -> PhraseBatch:
        """Repeat the rows of each sentence for its hypotheses, `count` in all."""
        return PhraseBatch(*(repeat_per_hypothesis(part, count) for part in self))

    def advance(self, matches: Tensor, tokens: Tensor) -> Tensor:
        """Return the matches [...,P,L] after one more token [...]."""
        before = F.pad(matches[..., :-1], (1, 0), value=True)
        return before & (self.tokens == tokens[..., None, None])

    def complete(self, matches: Tensor) -> Tensor:
        """[...,P], whether the last tokens are the whole phrase."""
        last = (self.lengths - 1).clamp(min=0)[..., None].expand(*matches.shape[:-1], 1)
        return matches.gather(-1, last)[..., 0] & (self.lengths > 0)

    def progress(self, matches: Tensor) -> Tensor:
        """[...,P], how many of the phrase's first tokens are the last tokens of the hypothesis."""
        return (matches * torch.arange(1, matches.shape[-1] + 1, device=matches.device)).amax(-1)


def exclude_phrases(
    step: StepFunction, state: State, excluded: Sequence[Sequence[TokenPhrase]], continues: Tensor, limit: Tensor
) -> tuple[StepFunction, State]:
    """Wrap a step function so that the outputs of a sentence contain none of its excluded phrases.

    The last token of a phrase is forbidden after the others. After a bounded phrase, the tokens that do not continue
    its last word (continues [V]) are forbidden, EOS included; but at the limit [B], where EOS must come next, its last
    token is.
    """
    if not any(excluded):
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        phrases, limits = cast(tuple[PhraseBatch, Tensor], own.memory)
        phrases, (matches, fed) = phrases.for_hypotheses(len(tokens)), cast(tuple[Tensor, Tensor], own.carry)
        matches, fed = phrases.advance(matches, tokens), fed + 1  # [N,P,L]; [N], number of tokens so far with BOS
        remaining = repeat_per_hypothesis(limits, len(tokens)) + 1 - fed
        must_continue = (phrases.complete(matches) & phrases.bounded).any(1)
        forbidden = must_continue[:, None] & ~continues
        forbidden = forbidden | mask_of_tokens(_last_tokens(phrases, matches, remaining), forbidden)
        return output._replace(log_probs=output.log_probs.masked_fill(forbidden, NEG_INF)), (matches, fed)

    phrases = PhraseBatch.from_rows(excluded, limit.device)
    own = State((phrases, limit), (phrases.no_matches(), torch.zeros_like(limit)))
    return wrap_step(step, state, own, constrain)


def _last_tokens(phrases: PhraseBatch, matches: Tensor, remaining: Tensor) -> Tensor:
    """[N,P], the last tokens of phrases whose other tokens are matched; PAD if the word may still be continued.

    remaining [N]: the number of tokens that fit before the limit.
    """
    preceding = torch.cat([torch.ones_like(matches[..., :1]), matches], dim=-1)  # [N,P,L+1], by matched tokens
    last = (phrases.lengths - 1).clamp(min=0)[..., None]
    nearly_complete = preceding.gather(2, last)[..., 0] & (phrases.lengths > 0)
    final = nearly_complete & (~phrases.bounded | (remaining <= 1)[:, None])
    return phrases.tokens.gather(2, last)[..., 0].masked_fill(~final, PAD)
