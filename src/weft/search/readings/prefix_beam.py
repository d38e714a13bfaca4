"""Prefix search in frames with a blank, as a beam. Graves et al. 2006, section 3.2; Graves 2012, section 7.5."""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.core.types import Count
from weft.search.forced import forced_scores
from weft.search.paths import start_paths, step_paths
from weft.search.readings.blank import require_blank
from weft.search.readings.guides import Guide, Guided, guide_of
from weft.search.role import Given

Numbers = NDArray[np.float64]
IMPOSSIBLE = -np.inf


class _Beam(NamedTuple):
    """The K prefixes that go on. Probabilities are logarithms."""

    prefixes: list[tuple[int, ...]]
    token: Numbers  # [K], of the paths so far that spell the prefix and end in its last token
    blank: Numbers  # [K], of those that end in a blank
    guided: list[Guided]  # what else is thought of each


class PrefixBeam:
    """The outputs whose paths have the largest sums, by a beam of the `size` best prefixes after each frame.

    Where a beam is wide enough, this is exact. `language_model`: the folder of one, whose log-probability counts
    `language_weight` times; `bonus` is added for each token, since a language model prefers short outputs (Hannun et
    al. 2014). `words`: a file with a word a line; an output is made of these, with spaces between them, and where all
    of the best prefixes are in the middle of a word, the best that is not goes on beside them. A score is the sum of
    all this over the tokens and the end, and that of the paths is exact, whatever the beam has missed.
    """

    def __init__(
        self,
        given: Given,
        *,
        size: Count = 16,
        best: Count = 1,
        language_model: str | None = None,
        language_weight: float = 0.5,
        bonus: float = 0.0,
        words: str | None = None,
    ):
        require_blank(given)
        if best > size:
            raise UserError(f"best is {best} but the beam's size is {size}: ask for at most {size}, or widen the beam")
        self.size = size
        self.best = best
        language = None if language_model is None else given.language_model(language_model)
        self.guide = guide_of(given, language, language_weight, bonus, words)

    @torch.no_grad()
    def __call__(self, frames: Frames, limit: Tensor) -> list[list[Hypothesis]]:
        log_probs = frames.log_probs.double().nan_to_num(nan=IMPOSSIBLE, neginf=IMPOSSIBLE).cpu().numpy()
        rows = zip(log_probs, frames.mask.sum(1).tolist(), limit.tolist(), strict=True)
        found = [self._read(row[:length], most) for row, length, most in rows]
        return scored(frames, found, limit, self.guide)

    def _read(self, log_probs: Numbers, limit: int) -> list[tuple[int, ...]]:
        """The `best` outputs of one sentence, log_probs [F,C]."""
        beam = _Beam([()], np.full(1, IMPOSSIBLE), np.zeros(1), [self.guide.start()])
        for row in log_probs:
            beam = self._advance(beam, row, limit)
            if not beam.prefixes:
                return []
        ends = np.logaddexp(beam.token, beam.blank) + [guided.total + guided.end for guided in beam.guided]
        order = np.argsort(-ends, kind="stable")[: self.best]
        return [beam.prefixes[place] for place in order if ends[place] > IMPOSSIBLE]

    def _advance(self, beam: _Beam, row: Numbers, limit: int) -> _Beam:
        """One frame further, row [C]: prefixes stay as they are, or grow by a token; the best of both go on."""
        token, grown = extended(beam, row, limit)
        blank = np.logaddexp(beam.token, beam.blank) + row[-1]
        thought = np.array([guided.total for guided in beam.guided])
        gains = np.stack([guided.gains for guided in beam.guided])  # [K,V]
        ranks = np.concatenate([np.logaddexp(token, blank) + thought, (grown + thought[:, None] + gains).ravel()])
        kept = best_places(ranks, self.size)
        stay = kept[kept < len(token)]
        parents, tokens = np.divmod(kept[kept >= len(token)] - len(token), grown.shape[1])
        growing = [*zip(parents.tolist(), tokens.tolist(), strict=True)]
        after = [self.guide.after(beam.guided[parent], added) for parent, added in growing]
        if not any(guided.end > IMPOSSIBLE for guided in [*(beam.guided[place] for place in stay), *after]):
            ends = np.array([guided.end for guided in beam.guided])
            stay = np.append(stay, best_places(ranks[: len(token)] + ends, 1))
        return _Beam(
            [beam.prefixes[place] for place in stay] + [(*beam.prefixes[parent], added) for parent, added in growing],
            np.concatenate([token[stay], grown[parents, tokens]]),
            np.concatenate([blank[stay], np.full(len(parents), IMPOSSIBLE)]),
            [beam.guided[place] for place in stay] + after,
        )


def extended(beam: _Beam, row: Numbers, limit: int) -> tuple[Numbers, Numbers]:
    """The paths that end in a token: of the prefixes as they are [K], and of each with each token after it [K,V].

    A prefix that grows into another one of the beam adds its paths to those of that one.
    """
    last = np.array([prefix[-1] if prefix else END for prefix in beam.prefixes])  # END is on no path
    every = np.arange(len(last))
    token = beam.token + np.where(beam.token > IMPOSSIBLE, row[last], 0.0)
    grown = np.logaddexp(beam.token, beam.blank)[:, None] + row[None, :-1]
    grown[every, last] = beam.blank + row[last]  # an equal token can only follow after a blank
    grown[[len(prefix) >= limit for prefix in beam.prefixes]] = IMPOSSIBLE
    places = {prefix: place for place, prefix in enumerate(beam.prefixes)}
    for place, prefix in enumerate(beam.prefixes):
        parent = places.get(prefix[:-1]) if prefix else None
        if parent is not None:
            token[place] = np.logaddexp(token[place], grown[parent, prefix[-1]])
            grown[parent, prefix[-1]] = IMPOSSIBLE
    return token, grown


def best_places(ranks: Numbers, count: int) -> NDArray[np.int64]:
    """The places of the `count` largest that are possible, in the order of the ranks' places."""
    kept = np.flatnonzero(ranks > IMPOSSIBLE)
    if len(kept) > count:
        kept = kept[np.argpartition(-ranks[kept], count - 1)[:count]]
    places: NDArray[np.int64] = np.sort(kept)
    return places


def scored(frames: Frames, found: list[list[tuple[int, ...]]], limit: Tensor, guide: Guide) -> list[list[Hypothesis]]:
    """The outputs with their exact scores, best first."""
    results: list[list[Hypothesis]] = [[] for _ in found]
    for rank in range(max(map(len, found), default=0)):
        rows = [row for row, outputs in enumerate(found) if len(outputs) > rank]
        target = Padded.of([[*found[row][rank], END] for row in rows]).to(frames.mask.device)
        chosen = torch.tensor(rows, device=frames.mask.device)
        state = start_paths(frames._replace(log_probs=frames.log_probs[chosen], mask=frames.mask[chosen]))
        for row, one in zip(rows, forced_scores(step_paths, state, target), strict=True):
            results[row].append(guided_hypothesis(one, guide, int(limit[row])))
    return [sorted(one, key=lambda hypothesis: -hypothesis.score) for one in results]


def guided_hypothesis(paths: Hypothesis, guide: Guide, limit: int) -> Hypothesis:
    """With what the guide thinks of each token added to its score."""
    thoughts, guided = [], guide.start()
    for token in paths.tokens:
        thoughts.append(float(guided.gains[token]))
        guided = guide.after(guided, token)
    scores = tuple(a + b for a, b in zip(paths.token_scores, [*thoughts, guided.end], strict=True))
    finished = len(paths.tokens) < limit or paths.token_scores[-1] >= math.log(0.5)  # no token is likelier than its end
    return Hypothesis(paths.tokens, sum(scores), scores, finished)
