"""The best finished hypotheses of each sentence."""

from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.state import Hypothesis
from weft.search.allowed import IMPOSSIBLE
from weft.search.trail import Trail


class End(NamedTuple):
    """A finished hypothesis: what it is ranked by, and its last candidate, as a place in the trail."""

    rank: float
    link: int
    candidate: int


class Finished:
    """Keeps, for each of B sentences, the `best` finished hypotheses as places in a trail; of equals the older."""

    def __init__(self, sentences: int, best: int, device: torch.device):
        self.scores = torch.full((sentences, best), IMPOSSIBLE, device=device)  # what they are ranked by, best first
        self.counts = torch.zeros(sentences, dtype=torch.long, device=device)  # all that finished, kept or not
        self._links = torch.zeros((sentences, best), dtype=torch.long, device=device)
        self._candidates = torch.zeros((sentences, best), dtype=torch.long, device=device)

    def add(self, sentences: Tensor, scores: Tensor, link: int) -> None:
        """Take in the candidates of a link, scores [A,C] of the sentences [A]; minus infinity is not finished."""
        candidates = torch.arange(scores.numel(), device=scores.device).view_as(scores)
        links = torch.full_like(candidates, link)
        best = self.scores.shape[1]
        merged = torch.cat([self.scores[sentences], scores], dim=1)
        merged, order = merged.sort(dim=1, descending=True, stable=True)
        order = order[:, :best]
        # Out of place: cat takes on the wider of the two types, which the first scores decide.
        self.scores = self.scores.to(merged.dtype).index_copy(0, sentences, merged[:, :best])
        self._links[sentences] = torch.cat([self._links[sentences], links], dim=1).gather(1, order)
        self._candidates[sentences] = torch.cat([self._candidates[sentences], candidates], dim=1).gather(1, order)
        self.counts[sentences] += (scores > IMPOSSIBLE).sum(1)

    def ends(self) -> list[list[End]]:
        """What is kept of each sentence, best first."""
        rows = zip(self.scores.tolist(), self._links.tolist(), self._candidates.tolist(), strict=True)
        return [[End(*end) for end in zip(*row, strict=True) if end[0] > IMPOSSIBLE] for row in rows]

    def read(self, trail: Trail) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first."""
        return trail.read([[(end.link, end.candidate) for end in ends] for ends in self.ends()])
