"""What must stand in the outputs, how much of it a hypothesis has said, and how many tokens it still needs.

A requirement is one phrase or several, of which any one will do. Phrases are looked for each by itself: two that differ
may share tokens. Equal requirements are met one after the other, each in a place of its own. After a token, the fewest
tokens that are still needed are at most

    remaining = sum over what is not yet said of the shortest phrase - the most that a phrase now begun saves of that

From any state there is a token that makes it less, so that what fits before the limit of an output can be met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.marks import BEGIN
from weft.core.padded import Padded
from weft.search.guides.beside import for_each
from weft.search.guides.phrases import Phrase, Phrases

Requirement: TypeAlias = Sequence[Phrase]


class Required(NamedTuple):
    """What the outputs of each sentence must say: R requirements that have P phrases between them."""

    phrases: Phrases
    asks: Tensor  # [B,R,P], which phrases a requirement is met by
    shortest: Tensor  # [B,R], the length of its shortest phrase that may stand anywhere; 0 where there are fewer
    joining: Tensor  # [B,P,L+1], whether a phrase's tokens join on to the word before; after its last: False
    waits: Tensor  # [B,R], the number, counted from 1, of the requirement that is to be met before it; 0: of none
    alphabet: Tensor  # [B,A], the tokens of the phrases; PAD where there are fewer
    limit: Tensor  # [B]

    @classmethod
    def of(
        cls, rows: Sequence[Sequence[Requirement]], joins: Tensor, ordered: Sequence[int], limit: Tensor
    ) -> Required:
        """From the requirements of each sentence, so many of the first in order; joins [V], the tokens that join."""
        flat = [[phrase for requirement in row for phrase in requirement] for row in rows]
        counts = [[len(requirement) for requirement in row] for row in rows]
        shortest = [[shortest_phrase(requirement) for requirement in row] for row in rows]
        waits = [waits_for([frozenset(one) for one in row], first) for row, first in zip(rows, ordered, strict=True)]
        alphabets = [sorted({token for phrase in row for token in phrase.tokens} - {BEGIN}) for row in flat]
        phrases = Phrases.of(flat, limit.device)
        return cls(
            phrases,
            _asks(counts).to(limit.device),
            Padded.of(shortest).data.to(limit.device),
            F.pad(joins[phrases.tokens], (0, 1), value=False),
            Padded.of(waits).data.to(limit.device),
            Padded.of(alphabets).data.to(limit.device),
            limit,
        )

    def of_hypotheses(self, count: int) -> Required:
        """A row for each of `count` hypotheses, and, but for the alphabet, an axis for the tokens it may go on with."""
        rest = (for_each(part, count)[:, None] for part in self[1:])
        asks, shortest, joining, waits, alphabet, limit = rest
        phrases = Phrases(*(part[:, None] for part in self.phrases.of_hypotheses(count)))
        return Required(phrases, asks, shortest, joining, waits, alphabet[:, 0], limit)


class Said(NamedTuple):
    """How far a hypothesis has come with what is required."""

    met: Tensor  # [N,R], for good
    begun: Tensor  # [N,P,L]; a phrase that is complete counts as met unless the next token joins on to it
    fed: Tensor  # [N], the tokens so far, BEGIN among them


def shortest_phrase(requirement: Requirement) -> int:
    """The fewest tokens that meet it, wherever they stand."""
    return min(len(phrase.tokens) for phrase in requirement if phrase.tokens[0] != BEGIN)


def waits_for(requirements: Sequence[object], ordered: int) -> list[int]:
    """The number, counted from 1, of the requirement that each is to be met after; 0: of none.

    The first `ordered` of them come one after the other; of the others, equal ones do.
    """
    return [number if number < ordered else _last_before(requirements, number) for number in range(len(requirements))]


def _last_before(requirements: Sequence[object], number: int) -> int:
    """The number of the last equal one before it; 0: there is none."""
    return max((place for place in range(1, number + 1) if requirements[place - 1] == requirements[number]), default=0)


def unsaid(required: Required) -> Said:
    """Before BEGIN."""
    met = torch.zeros_like(required.asks[..., 0])
    return Said(met, required.phrases.unbegun(), torch.zeros_like(required.limit))


def after(required: Required, said: Said, tokens: Tensor, joining: Tensor) -> Said:
    """What has been said after any of the tokens [N,C], with an axis for C; joining [N,C]: whether it joins."""
    met, begun, fed = apart(said)
    phrases = required.phrases
    whole = phrases.complete(begun) & ~(phrases.bounded & joining[..., None])  # [N,C,P]
    met = met | _met_by(required, whole)
    active = ~met & F.pad(met, (1, 0), value=True).gather(-1, required.waits.expand_as(met))
    begun = phrases.follow(begun, tokens) & (required.asks & active[..., None]).any(-2)[..., None]
    return Said(met, begun, (fed + 1).expand_as(tokens))


def remaining(required: Required, said: Said) -> Tensor:
    """[N,C], the fewest tokens that are still needed, or a bound of it, as the equation above says.

    A bounded phrase that is complete counts either as said, and then nothing is saved by phrases which would go on with
    a token that joins on to it; or as not said. The less of the two is needed.
    """
    complete = required.phrases.complete(said.begun)  # [N,C,P]
    progress = required.phrases.progress(said.begun)
    undoing = required.joining.expand(*progress.shape, -1).gather(-1, progress[..., None])[..., 0]
    kept = _needed(required, said.met | _met_by(required, complete), progress, (progress > 0) & ~undoing)
    for_good = complete & ~required.phrases.bounded
    given_up = _needed(required, said.met | _met_by(required, for_good), progress, (progress > 0) & ~complete)
    return torch.minimum(kept, given_up)


def _needed(required: Required, met: Tensor, progress: Tensor, counted: Tensor) -> Tensor:
    """The equation, for what is met [N,C,R], and the phrases [N,C,P] whose progress counts."""
    rest = (required.phrases.lengths - progress)[..., None, :]
    saving = required.asks & ~met[..., None] & counted[..., None, :]  # [N,C,R,P]
    saved = (required.shortest[..., None] - rest).masked_fill(~saving, 0)
    return (required.shortest * ~met).sum(-1) - saved.amax((-2, -1)).clamp(min=0)


def _met_by(required: Required, phrases: Tensor) -> Tensor:
    """[N,C,R], the requirements that these phrases [N,C,P] meet."""
    return (required.asks & phrases[..., None, :]).any(-1)


def apart(said: Said) -> Said:
    """With an axis for the tokens that each hypothesis may go on with."""
    return Said(*(part[:, None] for part in said))


def _asks(counts: Sequence[Sequence[int]]) -> Tensor:
    """[B,R,P], where the phrases of one requirement after the other stand side by side; counts: how many each has."""
    height, width = max(map(len, counts)), max(map(sum, counts))
    asks = torch.zeros(len(counts), height, width, dtype=torch.bool)
    for row, sizes in zip(asks, counts, strict=True):
        first = 0
        for number, size in enumerate(sizes):
            row[number, first : first + size] = True
            first += size
    return asks
