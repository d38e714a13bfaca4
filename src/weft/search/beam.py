"""Beam search: the K best hypotheses of each sentence go on together."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from weft.core import tree
from weft.core.errors import UserError
from weft.core.marks import BEGIN, END
from weft.core.state import Hypothesis, State, Step
from weft.core.types import Count, Make
from weft.search.allowed import IMPOSSIBLE, allowed
from weft.search.finished import Finished
from weft.search.penalties import Average, Penalty
from weft.search.top import top
from weft.search.trail import Link, Trail


class _Live(NamedTuple):
    """The hypotheses that go on: K rows, side by side, for each of the A sentences still searched."""

    sentences: Tensor  # [A], their places in the batch
    tokens: Tensor  # [A,K], the last ones
    scores: Tensor  # [A,K], best first, minus infinity where there are fewer than K
    candidates: Tensor  # [A,K], their places in the last link
    state: State


class _Candidates(NamedTuple):
    """The 2K best extensions of a sentence's hypotheses, best first."""

    tokens: Tensor  # [A,2K]
    scores: Tensor  # [A,2K], of the whole hypothesis
    rows: Tensor  # [A,2K], the carry rows they extend
    state: State  # after the step, its rows not yet reordered


class Beam:
    """Batched beam search with length normalisation.

    A step ranks all extensions of a sentence's K hypotheses by their summed log-probability. Those among the first K
    that are END finish a hypothesis; the K best others go on. (2K candidates are enough: at most K of them are END.)
    Finished hypotheses are ranked by score / penalty(length), and the `best` of them are returned.

    `stop` says when a sentence is done, if it has not come to its limit or run out of hypotheses before:

    - "finished": when `size` hypotheses have finished.
    - "limit": when `best` hypotheses have finished and no live one can still pass the last of these. A score can only
      fall, so score / penalty(limit + 1) is the most that a live hypothesis can reach. This is exact where the step's
      scores are log-probabilities (none above 0).
    """

    def __init__(
        self,
        *,
        size: Count = 5,
        best: Count = 1,
        length_penalty: Make[Penalty] = Average,
        stop: Literal["finished", "limit"] = "finished",
    ):
        if best > size:
            raise UserError(f"best is {best} but the beam's size is {size}: ask for at most {size}, or widen the beam")
        self.size = size
        self.best = best
        self.length_penalty = length_penalty()
        self.stop = stop

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        live = self._start(state, len(limit), limit.device)
        trail, finished = Trail(), Finished(len(limit), self.best, limit.device)
        while len(live.sentences):
            candidates = self._extend(step, live, limit, trail)
            self._finish(live.sentences, candidates, finished, len(trail))
            live = self._go_on(live.sentences, candidates)
            live = _leave(live, ~self._is_done(live, finished, limit))
        return finished.read(trail)

    def _start(self, state: State, sentences: int, device: torch.device) -> _Live:
        """K equal rows for each sentence, of which only the first counts."""
        everything = torch.arange(sentences, device=device)
        tokens = torch.full((sentences, self.size), BEGIN, device=device)
        scores = torch.full((sentences, self.size), IMPOSSIBLE, device=device)
        scores[:, 0] = 0
        state = state.select(everything, everything.repeat_interleave(self.size))
        return _Live(everything, tokens, scores, torch.zeros_like(tokens), state)

    def _extend(self, step: Step, live: _Live, limit: Tensor, trail: Trail) -> _Candidates:
        """One step of the model for all rows, and the best candidates of each sentence."""
        scores, state = step(live.tokens.flatten(), live.state)
        at_limit = limit[live.sentences] <= len(trail)
        log_probs, forced = allowed(scores.log_probs, at_limit.repeat_interleave(self.size))
        totals, tokens, rows = self._choose(live, log_probs)
        flat_rows, flat_tokens = rows.flatten(), tokens.flatten()
        parents = live.candidates.flatten()[flat_rows]
        trail.add(Link(flat_tokens, log_probs[flat_rows, flat_tokens], parents, flat_rows, forced, scores.attention))
        return _Candidates(tokens, totals, rows, state)

    def _choose(self, live: _Live, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The 2K best of the sentences' K V extensions: their scores, tokens and carry rows, each [A,2K]."""
        token_scores, tokens = top(log_probs, 2 * self.size)  # [A*K,2K]: no row can have more among the best
        width = tokens.shape[1]
        totals = live.scores.flatten()[:, None] + token_scores
        totals, places = top(totals.view(len(live.sentences), -1), 2 * self.size)
        places = places + _first_of_each(live.sentences, self.size * width)
        return totals, tokens.flatten()[places], places // width

    def _finish(self, sentences: Tensor, candidates: _Candidates, finished: Finished, length: int) -> None:
        """Put the candidates that end, if they are among the first K, with the finished ones."""
        penalty = self.length_penalty(torch.full_like(candidates.scores, length))
        ended = candidates.tokens == END
        ended[:, self.size :] = False
        finished.add(sentences, (candidates.scores / penalty).masked_fill(~ended, IMPOSSIBLE), length - 1)

    def _go_on(self, sentences: Tensor, candidates: _Candidates) -> _Live:
        """The K best candidates that do not end, with the carry rows that belong to them."""
        ended = (candidates.tokens == END).to(torch.uint8)
        places = ended.argsort(dim=1, stable=True)[:, : self.size]  # [A,K], still best first
        rows = candidates.rows.gather(1, places).flatten()
        memory, carry = candidates.state
        return _Live(
            sentences,
            candidates.tokens.gather(1, places),
            candidates.scores.gather(1, places),
            places + _first_of_each(sentences, 2 * self.size),
            # Not state.select: memory keeps its rows, and a copy of it at every step would cost more than the search.
            State(memory, tree.select(carry, rows)),
        )

    def _is_done(self, live: _Live, finished: Finished, limit: Tensor) -> Tensor:
        """[A]: by the stopping rule, or because nothing possible is left, as after the limit."""
        best = live.scores[:, 0]
        exhausted = ~(best > IMPOSSIBLE)
        if self.stop == "finished":
            return exhausted | (finished.counts[live.sentences] >= self.size)
        longest = (limit[live.sentences] + 1).to(best.dtype)
        return exhausted | (best / self.length_penalty(longest) <= finished.scores[live.sentences, -1])


def _leave(live: _Live, going: Tensor) -> _Live:
    """Only the sentences that go on [A], with all their rows."""
    kept = going.nonzero()[:, 0]
    if len(kept) == len(going):
        return live
    sentences, tokens, scores, candidates, state = live
    rows = (_first_of_each(going, tokens.shape[1]) + torch.arange(tokens.shape[1], device=going.device))[kept]
    return _Live(sentences[kept], tokens[kept], scores[kept], candidates[kept], state.select(kept, rows.flatten()))


def _first_of_each(sentences: Tensor, width: int) -> Tensor:
    """[A,1]: where each sentence starts when each has `width` rows side by side."""
    return torch.arange(len(sentences), device=sentences.device)[:, None] * width
