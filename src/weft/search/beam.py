"""Beam search: the K best hypotheses of each sentence go on together."""

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, Steer, Step
from weft.core.types import Count, Make
from weft.search.banks import by_banks
from weft.search.beams import Beams
from weft.search.candidates import Candidates, keeping_first, likeliest
from weft.search.rankings import Average, Ranking, Strength
from weft.search.stopping import Stop


class Beam:
    """Batched beam search, `size` hypotheses wide.

    A step ranks all extensions of a sentence's K hypotheses by their summed log-probability. Those among the first K
    that are END finish a hypothesis; the K best others go on. What finished is ranked by `length_penalty`, and by
    `coverage_penalty` times the coverage of the source, if that is not 0 (coverage.py); the `best` are returned. `stop`
    says when a sentence is done (stopping.py). Where the step says what must still come, places are divided among banks
    (banks.py).

    A beam can lose what greedy search finds: its beginning is dropped where K others are more probable, and those may
    go on worse. With `keep_greedy` it cannot: the first place of the beam always goes on with its likeliest token, so
    that it is greedy search until that ends. (Not where places are divided among banks.)
    """

    can_require = True

    def __init__(
        self,
        *,
        size: Count = 5,
        best: Count = 1,
        length_penalty: Make[Ranking] = Average,
        coverage_penalty: Strength = 0.0,
        stop: Stop = "finished",
        keep_greedy: bool = False,
    ):
        check_best(best, size)
        self._choose_free = _greedy_first if keep_greedy else likeliest
        self._beams = Beams(1, size, best, length_penalty(), coverage_penalty, stop, self._choose)

    @torch.no_grad()
    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:  # noqa: ARG002
        finished, trail = self._beams(step, state, limit)
        return finished.read(trail)

    def rank(self, hypothesis: Hypothesis) -> float:
        return self._beams.rank(hypothesis)

    def _choose(self, scores: Tensor, log_probs: Tensor, steer: Steer | None) -> Candidates:
        return self._choose_free(scores, log_probs) if steer is None else by_banks(scores, log_probs, steer)


def check_best(best: int, size: int) -> None:
    """A beam cannot give more than it holds."""
    if best > size:
        raise UserError(f"best is {best} but the beam's size is {size}: ask for at most {size}, or widen the beam")


def _greedy_first(scores: Tensor, log_probs: Tensor) -> Candidates:
    return keeping_first(likeliest(scores, log_probs), scores, log_probs)
