"""Positive lexical constraints: phrases that every output must contain.

A requirement is one phrase or several alternatives, any one of which meets it. Phrases are matched independently: two
different ones may share tokens, equal requirements are met one after the other. After each token, the number of tokens
that are still needed is at most

    remaining = sum over unmet requirements of their shortest phrase - the most that a partially matched phrase saves

From any state some token makes it smaller, so what fits before the length limit can be met: a token is allowed if what
remains after it fits, and EOS if nothing remains. A beam search learns which tokens lead to which bank, where the bank
of a hypothesis is the total of the shortest phrases - remaining.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, PAD
from weft.core.state import BankTransitions, State, StepFunction, StepOutput, TensorTree
from weft.decoding.constraints.phrase_matching import PhraseBatch, TokenPhrase
from weft.decoding.constraints.step_constraints import repeat_per_hypothesis, wrap_step
from weft.decoding.search import NEG_INF

Requirement: TypeAlias = Sequence[TokenPhrase]
OTHER_TOKEN = -1  # stands for a token that is in no phrase


class RequiredPhrases(NamedTuple):
    """The requirements of a batch of sentences: R of each, with P phrases between them."""

    phrases: PhraseBatch
    alternatives: Tensor  # [B,R,P], the phrases that meet a requirement
    shortest: Tensor  # [B,R], the length of its shortest phrase that may be anywhere; 0 where there are fewer than R
    continues: Tensor  # [B,P,L+1], whether a phrase's tokens continue the word before; False after the last
    predecessors: Tensor  # [B,R], the number, from 1, of the requirement that must be met before it; 0: none
    alphabet: Tensor  # [B,A], the tokens of the phrases; PAD where there are fewer
    limit: Tensor  # [B]

    @classmethod
    def from_rows(
        cls, rows: Sequence[Sequence[Requirement]], continues: Tensor, ordered: Sequence[int], limit: Tensor
    ) -> RequiredPhrases:
        """Make a batch from the requirements of each sentence, the first `ordered` of which come in order.

        continues [V]: the tokens that continue the word before them.
        """
        flat = [[phrase for requirement in row for phrase in requirement] for row in rows]
        owners = [[number for number, requirement in enumerate(row, 1) for _ in requirement] for row in rows]
        numbers = torch.arange(1, max(map(len, rows)) + 1)[:, None]  # [R,1], none of which is the padding of owners
        shortest = [[shortest_length(requirement) for requirement in row] for row in rows]
        predecessors = [
            requirement_predecessors([frozenset(requirement) for requirement in row], count)
            for row, count in zip(rows, ordered, strict=True)
        ]
        alphabets = [sorted({token for phrase in row for token in phrase.tokens} - {BOS}) for row in flat]
        phrases = PhraseBatch.from_rows(flat, limit.device)
        return cls(
            phrases,
            (Padded.from_rows(owners).data[:, None, :] == numbers).to(limit.device),
            Padded.from_rows(shortest).data.to(limit.device),
            F.pad(continues[phrases.tokens], (0, 1), value=False),
            Padded.from_rows(predecessors).data.to(limit.device),
            Padded.from_rows(alphabets).data.to(limit.device),
            limit,
        )

    def for_hypotheses(self, count: int) -> RequiredPhrases:
        """Repeat rows for `count` hypotheses, with an axis for next tokens (except in `alphabet`)."""
        rest = (repeat_per_hypothesis(part, count)[:, None] for part in self[1:])
        alternatives, shortest, continues, predecessors, alphabet, limit = rest
        phrases = PhraseBatch(*(part[:, None] for part in self.phrases.for_hypotheses(count)))
        return RequiredPhrases(phrases, alternatives, shortest, continues, predecessors, alphabet[:, 0], limit)

    def met_by(self, phrases: Tensor) -> Tensor:
        """[N,C,R]: the requirements that these phrases [N,C,P] meet."""
        return (self.alternatives & phrases[..., None, :]).any(-1)


class RequirementProgress(NamedTuple):
    """The progress of each hypothesis."""

    met: Tensor  # [N,R], definitely met requirements
    matches: Tensor  # [N,P,L]; a complete phrase counts as met unless the next token continues its last word
    fed: Tensor  # [N], number of tokens so far, BOS included


def shortest_length(requirement: Requirement) -> int:
    """Return the fewest tokens that meet a requirement anywhere in an output."""
    return min(len(phrase.tokens) for phrase in requirement if phrase.tokens[0] != BOS)


def requirement_predecessors(requirements: Sequence[object], ordered: int) -> list[int]:
    """Return the number, from 1, of the requirement that must be met before each one; 0: none.

    The first `ordered` requirements come one after the other; of the others, equal ones do.
    """
    predecessors = []
    for number, requirement in enumerate(requirements):
        equal = [place for place, other in enumerate(requirements[:number], 1) if other == requirement]
        predecessors.append(number if number < ordered else max(equal, default=0))
    return predecessors


def _initial_progress(required: RequiredPhrases) -> RequirementProgress:
    met = torch.zeros_like(required.alternatives[..., 0])
    return RequirementProgress(met, required.phrases.no_matches(), torch.zeros_like(required.limit))


def _advance(
    required: RequiredPhrases, progress: RequirementProgress, tokens: Tensor, continues: Tensor
) -> RequirementProgress:
    """The progress after each of the tokens [N,C], with an axis for C; continues [N,C]: whether each continues a
    word."""
    met, matches, fed = (part[:, None] for part in progress)
    phrases = required.phrases
    complete = phrases.complete(matches) & ~(phrases.bounded & continues[..., None])  # [N,C,P]
    met = met | required.met_by(complete)
    active = ~met & F.pad(met, (1, 0), value=True).gather(-1, required.predecessors.expand_as(met))
    matches = phrases.advance(matches, tokens) & (required.alternatives & active[..., None]).any(-2)[..., None]
    return RequirementProgress(met, matches, (fed + 1).expand_as(tokens))


def _remaining_tokens(required: RequiredPhrases, progress: RequirementProgress) -> Tensor:
    """[N,C]: an upper bound of the tokens that are still needed, by the equation above.

    A complete bounded phrase counts either as met, and then phrases whose next token continues its last word save
    nothing; or as not met. The smaller number is needed.
    """
    complete = required.phrases.complete(progress.matches)  # [N,C,P]
    lengths = required.phrases.progress(progress.matches)
    undoes = required.continues.expand(*lengths.shape, -1).gather(-1, lengths[..., None])[..., 0]
    met = progress.met | required.met_by(complete)
    if_met = _needed_tokens(required, met, lengths, (lengths > 0) & ~undoes)
    met = progress.met | required.met_by(complete & ~required.phrases.bounded)
    if_not_met = _needed_tokens(required, met, lengths, (lengths > 0) & ~complete)
    return torch.minimum(if_met, if_not_met)


def _needed_tokens(required: RequiredPhrases, met: Tensor, progress: Tensor, counted: Tensor) -> Tensor:
    """The equation for met requirements [N,C,R] and the phrases [N,C,P] whose progress is counted."""
    rest = (required.phrases.lengths - progress)[..., None, :]
    saving = required.alternatives & ~met[..., None] & counted[..., None, :]  # [N,C,R,P]
    saved = (required.shortest[..., None] - rest).masked_fill(~saving, 0)
    return (required.shortest * ~met).sum(-1) - saved.amax((-2, -1)).clamp(min=0)


def require_phrases(
    step: StepFunction,
    state: State,
    rows: Sequence[Sequence[Requirement]],
    continues: Tensor,
    limit: Tensor,
    ordered: Sequence[int] | None = None,
) -> tuple[StepFunction, State]:
    """Wrap a step function so that every output meets all requirements of its sentence, if they fit the limit [B].

    continues [V]: the tokens that continue the word before them; no phrase begins with one. ordered: how many of the
    first requirements of each sentence must be met in order, without shared tokens; the others may come in any order.
    """
    if not any(rows):
        return step, state
    required = RequiredPhrases.from_rows(rows, continues, [0] * len(rows) if ordered is None else ordered, limit)

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        required = cast(RequiredPhrases, own.memory).for_hypotheses(len(tokens))
        advanced = _advance(required, cast(RequirementProgress, own.carry), tokens[:, None], continues[tokens][:, None])
        progress = RequirementProgress(*(part[:, 0] for part in advanced))
        now = _remaining_tokens(required, RequirementProgress(*(part[:, None] for part in progress)))[:, 0]
        after = _remaining_after_each_token(required, progress, continues)
        forbidden = _forbidden_tokens(required, progress, after, now, continues)
        log_probs = output.log_probs.masked_fill(forbidden, NEG_INF)
        banks = required.shortest.sum(-1) - after
        leading = required.alphabet.masked_fill(banks[:, :-2] == banks[:, -2:-1], PAD)
        transitions = BankTransitions(leading, banks[:, :-2], banks[:, -2])
        return output._replace(log_probs=log_probs, bank_transitions=transitions), progress

    return wrap_step(step, state, State(required, _initial_progress(required)), constrain)


def _remaining_after_each_token(required: RequiredPhrases, progress: RequirementProgress, continues: Tensor) -> Tensor:
    """[N,A+2]: the remaining tokens after each token of the alphabet, and after another one that starts, or that
    continues, a word."""
    alphabet = required.alphabet
    tokens = torch.cat([alphabet, torch.full_like(alphabet[:, :1], OTHER_TOKEN).expand(-1, 2)], dim=1)
    others = torch.tensor([False, True], device=continues.device).expand(len(tokens), 2)
    return _remaining_tokens(
        required, _advance(required, progress, tokens, torch.cat([continues[alphabet], others], dim=1))
    )


def _forbidden_tokens(
    required: RequiredPhrases, progress: RequirementProgress, after: Tensor, now: Tensor, continues: Tensor
) -> Tensor:
    """[N,V]: the tokens after which the remaining ones [N,A+2] do not fit; EOS while any remain."""
    room = required.limit[:, 0] - progress.fed  # after the next token
    too_many = after > room.clamp(min=0)[:, None]  # at the limit the search forces EOS itself
    forbidden = torch.where(continues, too_many[:, -1:], too_many[:, -2:-1])
    forbidden = forbidden.scatter(1, required.alphabet, too_many[:, :-2])
    forbidden[:, PAD] = False  # the padding of the alphabet; no search takes it
    forbidden[:, EOS] = now > 0
    return forbidden


def requirement_outcomes(
    tokens: Sequence[int], requirements: Sequence[Requirement], continues: Tensor, limit: int, ordered: int = 0
) -> list[tuple[bool, bool]]:
    """Return whether each requirement is met by an output (without EOS) of `require_phrases` with this limit, and
    whether its last token was forced because no other would have left room."""
    if not requirements:
        return []
    continues = continues.cpu()
    batch = RequiredPhrases.from_rows([requirements], continues, [ordered], torch.tensor([limit]))
    required, progress = batch.for_hypotheses(1), _initial_progress(batch)
    met = [False] * len(requirements)
    forced = [False] * len(requirements)
    is_forced = False
    for count, token in enumerate([BOS, *tokens]):
        now = _advance(required, progress, torch.tensor([[token]]), continues[token].view(1, 1))
        before, met = met, (now.met | required.met_by(required.phrases.complete(now.matches)))[0, 0].tolist()
        forced = [
            is_forced if is_met and not was_met else was_forced
            for was_forced, was_met, is_met in zip(forced, before, met, strict=True)
        ]
        is_forced = int(_remaining_tokens(required, now)) >= limit - count
        progress = RequirementProgress(*(part[:, 0] for part in now))
    return [(is_met, is_met and was_forced) for is_met, was_forced in zip(met, forced, strict=True)]
