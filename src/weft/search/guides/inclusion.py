"""Outputs in which given runs of tokens must stand.

With what `required.py` says still remains, a token is allowed if what remains after it fits before the limit, so that
what must be said is forced when just so many tokens are left; END is allowed when nothing remains. A search that prunes
is told which tokens lead on, and to which bank (required - remaining).
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from weft.core.marks import END, PAD
from weft.core.state import Scores, State, Steer, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside
from weft.search.guides.required import Required, Requirement, Said, after, apart, remaining, unsaid

OTHER = -1  # in place of a token that is in no phrase


def include(
    step: Step,
    state: State,
    rows: Sequence[Sequence[Requirement]],
    joins: Tensor,
    limit: Tensor,
    ordered: Sequence[int] | None = None,
) -> tuple[Step, State]:
    """Every output of a sentence meets all its requirements, if they fit into its limit [B].

    joins [V]: the tokens that join on to the word before them. No phrase begins with one. ordered: so many of the first
    requirements of each sentence are met each after the one before, and their tokens are not shared; the order of the
    others is free.
    """
    if not any(rows):
        return step, state
    required = Required.of(rows, joins, [0] * len(rows) if ordered is None else ordered, limit)

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        required = cast(Required, own.memory).of_hypotheses(len(tokens))
        said = after(required, cast(Said, own.carry), tokens[:, None], joins[tokens][:, None])
        said = Said(*(part[:, 0] for part in said))
        now = remaining(required, apart(said))[:, 0]
        left = _after_each(required, said, joins)
        log_probs = scores.log_probs.masked_fill(_forbidden(required, said, left, now, joins), IMPOSSIBLE)
        return scores._replace(log_probs=log_probs, steer=_steer(required, left)), said

    return beside(step, state, State(required, unsaid(required)), advise)


def _after_each(required: Required, said: Said, joins: Tensor) -> Tensor:
    """What remains after each token of the alphabet, after another one, and after another one that joins: [N,A+2]."""
    alphabet = required.alphabet
    tokens = torch.cat([alphabet, torch.full_like(alphabet[:, :1], OTHER).expand(-1, 2)], dim=1)
    ends = torch.tensor([False, True], device=joins.device).expand(len(tokens), 2)
    joining = torch.cat([joins[alphabet], ends], dim=1)
    return remaining(required, after(required, said, tokens, joining))


def _forbidden(required: Required, said: Said, left: Tensor, now: Tensor, joins: Tensor) -> Tensor:
    """[N,V], the tokens after which there is no room for what then remains, left [N,A+2]; END while something does."""
    room = required.limit[:, 0] - said.fed  # after the next token
    too_much = left > room.clamp(min=0)[:, None]  # at the limit the search takes END, and tells if it had to be forced
    forbidden = torch.where(joins, too_much[:, -1:], too_much[:, -2:-1])
    forbidden = forbidden.scatter(1, required.alphabet, too_much[:, :-2])
    forbidden[:, PAD] = False  # which stands for no token in the alphabet, and which no search takes
    forbidden[:, END] = now > 0
    return forbidden


def _steer(required: Required, left: Tensor) -> Steer:
    """The tokens that lead to another bank than most."""
    whole = required.shortest.sum(-1)  # [N,1]
    banks = whole - left
    others = banks[:, -2:-1]
    wanted = required.alphabet.masked_fill(banks[:, :-2] == others, PAD)
    return Steer(wanted, banks[:, :-2], others[:, 0], whole[:, 0])
