"""What every search is: it knows a step function, never a model; and every reading, which knows frames."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from weft.core.frames import Frames
from weft.core.state import Hypothesis, State, Step
from weft.core.types import Vocabulary


class Search(Protocol):
    """Find good outputs of a step function, for a batch of sentences at once.

    Every search keeps these rules:

    - An output starts from BEGIN (not part of it) and ends with END; PAD and BEGIN are never produced.
    - `limit` [B] is the most tokens each output may have, END not counted. At the limit END is the only choice and
      its score counts like any other, so that a hypothesis' score is always the forced score of its tokens and END.
      `finished` is False where END was forced although another token was more probable.
    - An output of probability zero is never returned; a sentence that has no other gets an empty list.
    """

    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first.

        `state` has one carry row per sentence, as a decoder's start gives it, on the device of `limit`. `lines` [B] are
        the sentences' numbers in the whole input: what is drawn at random depends on them, never on the batch.
        """
        ...

    def rank(self, hypothesis: Hypothesis) -> float:
        """What an output is compared by with the others of its sentence: its score, or what a ranking makes of it."""
        ...

    @property
    def can_require(self) -> bool:
        """Does it heed `Scores.steer`, so that what must be said can be promised?"""
        ...


class Language(NamedTuple):
    """A language model of the outputs: its step function, and the state before the first token, of one hypothesis.

    The step takes tokens from any device.
    """

    step: Step
    start: State


@dataclass(frozen=True)
class Given:
    """What a reading may need that is not in the frames: how they are meant, text, and language models."""

    blank: bool  # is the last class of a frame "no token"?
    vocabulary: Vocabulary
    encode: Callable[[Sequence[str]], list[list[int]]]  # lines to target ids
    language_model: Callable[[str], Language]  # the one in a folder; it must have the same vocabulary


class Reading(Protocol):
    """Find good outputs in frames, for a batch of sentences at once. Made as Reading(given, ...).

    Every reading keeps these rules:

    - An output has no PAD, BEGIN or END.
    - `limit` [B] is the most tokens each output may have. `finished` is False where that ended one which else had more.
    - `score` is the sum of `token_scores`, one for each token and one for the end, as searches have them.
    - An output of probability zero is never returned; a sentence that has no other gets an empty list.
    """

    def __call__(self, frames: Frames, limit: Tensor) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first."""
        ...
