"""A request as tokens, and the guides that see to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from weft.control.request import Request
from weft.control.spelling import Speller
from weft.control.words import stands
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import State, Step
from weft.search.guides.exclusion import exclude
from weft.search.guides.inclusion import include
from weft.search.guides.phrases import Phrase
from weft.search.guides.prefixes import bias_prefix, force_prefix
from weft.search.guides.required import shortest_phrase
from weft.search.guides.vocabulary import allow_only, vocabularies


@dataclass(frozen=True)
class Plan:
    """What a request asks for, in tokens."""

    prefix: tuple[int, ...] = ()
    bias: float = 0.0
    requirements: tuple[tuple[Phrase, ...], ...] = ()
    ordered: int = 0
    excluded: tuple[Phrase, ...] = ()
    vocabulary: frozenset[int] | None = None

    @property
    def forced(self) -> tuple[int, ...]:
        """The tokens that an output surely begins with."""
        return () if self.bias else self.prefix

    @property
    def needed(self) -> list[tuple[int, ...]]:
        """The rows of tokens that other wishes must leave possible."""
        return [self.prefix, *(phrase.tokens for phrases in self.requirements for phrase in phrases)]

    @property
    def least(self) -> int:
        """The tokens that an output must have, if none serves two purposes."""
        return len(self.forced) + sum(map(shortest_phrase, self.requirements))


def planned(request: Request, speller: Speller) -> Plan:
    """How a request is seen to; UserError if it contradicts itself or cannot be spelled."""
    excluded = [speller.shown(phrase) for phrase in request.exclude]
    prefix = speller.prefix(request.prefix) if request.prefix else []
    for phrase in excluded:
        if request.bias is None and stands(phrase, speller.shown(request.prefix)):
            raise UserError(f'the prefix "{request.prefix}" has "{phrase}" in it, which is to be excluded')
    requirements = tuple(_requirement(alternatives, excluded, speller) for alternatives in request.include)
    plan = Plan(tuple(prefix), request.bias or 0.0, requirements, request.ordered)
    spelled = [one for phrase in request.exclude for one in speller.excluded(phrase)]
    words = request.vocabulary
    return replace(
        plan,
        excluded=tuple(
            one._replace(bounded=one.bounded or any(_holds(row, one.tokens) for row in plan.needed)) for one in spelled
        ),
        vocabulary=None if words is None else frozenset(speller.pieces_of(words).union(*plan.needed)),
    )


def guided(step: Step, state: State, plans: Sequence[Plan], limit: Tensor, joins: Tensor) -> tuple[Step, State]:
    """The step and the state of a batch, with the guides that its plans need; joins [V]: see `Speller`."""
    device = limit.device
    joins = joins.to(device)
    if any(plan.bias for plan in plans):
        biased = Padded.of([plan.prefix if plan.bias else () for plan in plans]).to(device)
        step, state = bias_prefix(step, state, biased, torch.tensor([plan.bias for plan in plans], device=device))
    step, state = allow_only(step, state, vocabularies([plan.vocabulary for plan in plans], len(joins)).to(device))
    step, state = exclude(step, state, [plan.excluded for plan in plans], joins, limit)
    ordered = [plan.ordered for plan in plans]
    step, state = include(step, state, [plan.requirements for plan in plans], joins, limit, ordered)
    return force_prefix(step, state, Padded.of([plan.forced for plan in plans]).to(device))


def _holds(row: tuple[int, ...], tokens: tuple[int, ...]) -> bool:
    """Do the tokens stand in the row? Then a longer word needs them, and only the end of theirs can be forbidden."""
    return any(row[first : first + len(tokens)] == tokens for first in range(len(row)))


def _requirement(alternatives: tuple[str, ...], excluded: Sequence[str], speller: Speller) -> tuple[Phrase, ...]:
    """The phrases of which one must stand, without those that hold what is excluded or that no output can hold."""
    sayable = [phrase for phrase in alternatives if speller.knows(phrase)]
    spelled = {phrase: speller.required(phrase) for phrase in sayable or alternatives}
    kept = [phrase for phrase in spelled if not any(stands(other, speller.shown(phrase)) for other in excluded)]
    if not kept:
        asked = " or ".join(f'"{phrase}"' for phrase in alternatives)
        raise UserError(f"{asked} is to be included, but what is to be excluded stands in it: leave out one of the two")
    return tuple(dict.fromkeys(one for phrase in kept for one in spelled[phrase]))
