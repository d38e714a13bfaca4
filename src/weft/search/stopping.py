"""When a beam search is done with a sentence, before it has come to its limit or run out of hypotheses.

- "finished": when as many hypotheses have finished as the beam is wide. Bahdanau et al. 2015 (whose beam becomes
  narrower with each), fairseq, and transformers with `early_stopping=True`.
- "limit": when no live hypothesis can pass the last of the `best` finished ones, even if it were as long as is allowed.
  Exact where the scores of a step are log-probabilities, none above 0. tensor2tensor; in transformers it is
  `early_stopping="never"`.
- "first": as soon as one has finished (`best` of them, if several are asked for). `beam_search_stop: first` of Sockeye.
- "top": when the best candidate of a step ends, and `best` have finished. OpenNMT-py.
"""

from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor

from weft.search.allowed import IMPOSSIBLE

Stop: TypeAlias = Literal["finished", "limit", "first", "top"]


class Standing(NamedTuple):
    """How each of U beams stands after a step."""

    counts: Tensor  # [U], how many hypotheses have finished
    last: Tensor  # [U], the rank of the last of the `best` finished ones, minus infinity while there are fewer
    reach: Tensor  # [U], the highest rank that a live one can still reach, minus infinity where none is left
    top: Tensor  # [U], whether the best candidate of the step has ended


def is_done(stop: Stop, standing: Standing, size: int) -> Tensor:
    """[U]: by the rule, or because nothing possible is left."""
    exhausted = ~(standing.reach > IMPOSSIBLE)
    return exhausted | _met(stop, standing, size)


def _met(stop: Stop, standing: Standing, size: int) -> Tensor:
    enough = standing.last > IMPOSSIBLE
    match stop:
        case "finished":
            return standing.counts >= size
        case "limit":
            return standing.reach <= standing.last
        case "first":
            return enough
        case "top":
            return enough & standing.top
