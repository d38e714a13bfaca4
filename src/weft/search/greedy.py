"""Greedy search: always the most probable token."""

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.marks import BEGIN, END
from weft.core.state import Hypothesis, State, Step
from weft.search.allowed import IMPOSSIBLE, allowed
from weft.search.finished import Finished
from weft.search.trail import Link, Trail


class _Live(NamedTuple):
    """The A sentences that go on, a row each."""

    sentences: Tensor  # [A], their places in the batch
    tokens: Tensor  # [A], the last ones
    candidates: Tensor  # [A], their places in the last link
    state: State


class Greedy:
    """One hypothesis per sentence; sentences that are finished leave the batch. Of equal tokens the lowest id."""

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        everything = torch.arange(len(limit), device=limit.device)
        live = _Live(everything, torch.full_like(everything, BEGIN), everything, state)
        trail, finished = Trail(), Finished(len(limit), 1, limit.device)
        while len(live.sentences):
            link, state = _choose(step, live, limit[live.sentences] <= len(trail))
            trail.add(link)
            ended = link.scores.masked_fill(link.tokens != END, IMPOSSIBLE)
            finished.add(live.sentences, ended[:, None], len(trail) - 1)
            live = _leave(live, link, state)
        return finished.read(trail)


def _choose(step: Step, live: _Live, at_limit: Tensor) -> tuple[Link, State]:
    scores, state = step(live.tokens, live.state)
    log_probs, forced = allowed(scores.log_probs, at_limit)
    token_scores, tokens = log_probs.max(1)
    rows = torch.arange(len(tokens), device=tokens.device)
    return Link(tokens, token_scores, live.candidates, rows, forced, scores.attention), state


def _leave(live: _Live, link: Link, state: State) -> _Live:
    """Without the sentences that ended or have no possible token."""
    going = ((link.tokens != END) & (link.scores > IMPOSSIBLE)).nonzero()[:, 0]
    if len(going) == len(live.sentences):
        return live._replace(tokens=link.tokens, candidates=link.rows, state=state)
    return _Live(live.sentences[going], link.tokens[going], going, state.select(going, going))
