"""A search that keeps several hypotheses per sentence: what beam search and diverse beam search share."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core import tree
from weft.core.marks import END
from weft.core.state import Hypothesis, Scores, State, Step
from weft.search.allowed import IMPOSSIBLE, allowed
from weft.search.candidates import Candidates, Choose, going_on
from weft.search.coverage import coverage, coverage_of, looked
from weft.search.finished import Finished
from weft.search.live import Live, first_of_each, leave, start
from weft.search.rankings import Ranking, rank_of
from weft.search.recording import record
from weft.search.stopping import Standing, Stop, is_done
from weft.search.trail import Link, Trail


class _Step(NamedTuple):
    """What a step has brought."""

    candidates: Candidates
    link: Link
    looked: Tensor | None  # [U*K,S], the attention so far, this step's included, where coverage is asked for
    state: State  # after the step, its rows not yet reordered


@dataclass(frozen=True)
class Beams:
    """Of each sentence `number` beams, each `size` hypotheses wide, of whose finished ones it keeps the `best`.

    A step makes 2K candidates for each beam. Those among the first K that are END finish a hypothesis; the first K
    others go on. A beam is done by the rule `stop`, and a sentence leaves the batch when all its beams are done.
    """

    number: int
    size: int
    best: int
    ranking: Ranking
    coverage: float
    stop: Stop
    choose: Choose

    def __call__(self, step: Step, state: State, limit: Tensor) -> tuple[Finished, Trail]:
        """The finished hypotheses of each of the B x number beams, as places in the trail."""
        live = start(state, len(limit), self.number, self.size, limit.device)
        limit = limit.repeat_interleave(self.number)
        trail, finished = Trail(), Finished(len(limit), self.best, limit.device)
        while len(live.beams):
            made = self._extend(step, live, limit[live.beams] <= len(trail))
            trail.add(made.link)
            ranks = self._ranks_of_ended(made, len(trail))
            finished.add(live.beams, ranks, len(trail) - 1)
            places = going_on(made.candidates.tokens)
            self._record(live, made, ranks, places)
            live = _go_on(live, made, places)
            live = leave(live, self._is_done(live, made, finished, limit[live.beams]), self.number)
        return finished, trail

    def rank(self, hypothesis: Hypothesis) -> float:
        """What one output is compared by."""
        rank = rank_of(hypothesis, self.ranking)
        return rank + self.coverage * coverage_of(hypothesis) if self.coverage else rank

    def _extend(self, step: Step, live: Live, at_limit: Tensor) -> _Step:
        """One step of the model for all rows, and the candidates of each beam."""
        said, state = step(live.tokens.flatten(), live.state)
        log_probs, forced = allowed(said.log_probs, at_limit.repeat_interleave(self.size))
        candidates = self.choose(live.scores, log_probs, said.steer)
        tokens, rows = candidates.tokens.flatten(), candidates.rows.flatten()
        parents = live.candidates.flatten()[rows]
        link = Link(tokens, log_probs[rows, tokens], parents, rows, forced, said.attention)
        return _Step(candidates, link, self._looked(live, said), state)

    def _looked(self, live: Live, said: Scores) -> Tensor | None:
        return looked(live.looked, said.attention) if self.coverage else None

    def _ranks_of_ended(self, made: _Step, length: int) -> Tensor:
        """[U,2K], minus infinity where a candidate does not end, or is not among the first K."""
        ended = made.candidates.tokens == END
        ended[:, self.size :] = False
        ranks = self.ranking(made.candidates.scores, torch.full_like(made.candidates.scores, length))
        if made.looked is not None:
            ranks = ranks + self.coverage * coverage(made.looked, made.candidates.rows)
        return ranks.masked_fill(~ended, IMPOSSIBLE)

    def _is_done(self, live: Live, made: _Step, finished: Finished, limit: Tensor) -> Tensor:
        """[U]. What a live one can reach is its rank at the length of the limit, END counted, and coverage is 0."""
        best = live.scores.amax(1)
        likeliest = made.candidates.scores.argmax(1, keepdim=True)
        standing = Standing(
            counts=finished.counts[live.beams],
            last=finished.scores[live.beams, -1],
            reach=self.ranking(best, (limit + 1).to(best.dtype)),
            top=(made.candidates.tokens.gather(1, likeliest) == END)[:, 0],
        )
        return is_done(self.stop, standing, self.size)

    def _record(self, live: Live, made: _Step, ranks: Tensor, places: Tensor) -> None:
        scores = made.candidates.scores
        kept = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, places, 1) & (scores > IMPOSSIBLE)
        sentences = (live.beams // self.number).repeat_interleave(scores.shape[1])
        record(made.link, sentences, kept.flatten(), ranks.flatten())


def _go_on(live: Live, made: _Step, places: Tensor) -> Live:
    """The candidates at these places [U,K], with the carry rows that belong to them."""
    candidates = made.candidates
    rows = candidates.rows.gather(1, places).flatten()
    memory, carry = made.state
    return Live(
        live.beams,
        candidates.tokens.gather(1, places),
        candidates.scores.gather(1, places),
        places + first_of_each(live.beams, candidates.tokens.shape[1]),
        None if made.looked is None else made.looked[rows],
        # Not state.select: memory keeps its rows, and a copy of it at every step would cost more than the search.
        State(memory, tree.select(carry, rows)),
    )
