"""A search that keeps one hypothesis per sentence: what greedy search and sampling share."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from weft.core.marks import BEGIN, END
from weft.core.state import Hypothesis, State, Step
from weft.search.allowed import IMPOSSIBLE, allowed
from weft.search.finished import Finished
from weft.search.recording import record
from weft.search.steering import refuse
from weft.search.trail import Link, Trail


class Pick(Protocol):
    """How the next token is chosen."""

    def __call__(self, log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:
        """log_probs [A,V], the places of these sentences in the batch [A], the tokens they have -> tokens [A]."""
        ...


class _Live(NamedTuple):
    """The A sentences that go on, a row each."""

    sentences: Tensor  # [A], their places in the batch
    tokens: Tensor  # [A], the last ones
    scores: Tensor  # [A]
    candidates: Tensor  # [A], their places in the last link
    state: State


def search_single(step: Step, state: State, limit: Tensor, pick: Pick) -> list[list[Hypothesis]]:
    """One hypothesis per sentence; sentences that are finished leave the batch."""
    everything = torch.arange(len(limit), device=limit.device)
    scores = torch.zeros(len(limit), device=limit.device)
    live = _Live(everything, torch.full_like(everything, BEGIN), scores, everything, state)
    trail, finished = Trail(), Finished(len(limit), 1, limit.device)
    while len(live.sentences):
        link, state = _choose(step, live, limit[live.sentences] <= len(trail), len(trail), pick)
        trail.add(link)
        scores = live.scores + link.scores
        ended = scores.masked_fill(link.tokens != END, IMPOSSIBLE)
        finished.add(live.sentences, ended[:, None], len(trail) - 1)
        going = (link.tokens != END) & (scores > IMPOSSIBLE)
        record(link, live.sentences, going, ended)
        live = _go_on(live._replace(scores=scores), link, state, going)
    return finished.read(trail)


def _choose(step: Step, live: _Live, at_limit: Tensor, length: int, pick: Pick) -> tuple[Link, State]:
    scores, state = step(live.tokens, live.state)
    refuse(scores.steer)
    log_probs, forced = allowed(scores.log_probs, at_limit)
    tokens = pick(log_probs, live.sentences, length)
    token_scores = log_probs.gather(1, tokens[:, None])[:, 0]
    rows = torch.arange(len(tokens), device=tokens.device)
    return Link(tokens, token_scores, live.candidates, rows, forced, scores.attention), state


def _go_on(live: _Live, link: Link, state: State, going: Tensor) -> _Live:
    """Without the sentences that ended or have no possible token: going [A]."""
    kept = going.nonzero()[:, 0]
    if len(kept) == len(going):
        return live._replace(tokens=link.tokens, candidates=link.rows, state=state)
    return _Live(live.sentences[kept], link.tokens[kept], live.scores[kept], kept, state.select(kept, kept))
