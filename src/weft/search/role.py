"""What every search is: it knows a step function, never a model."""

from typing import Protocol

from torch import Tensor

from weft.core.state import Hypothesis, State, Step


class Search(Protocol):
    """Find good outputs of a step function, for a batch of sentences at once.

    Every search keeps these rules:

    - An output starts from BEGIN (not part of it) and ends with END; PAD and BEGIN are never produced.
    - `limit` [B] is the most tokens each output may have, END not counted. At the limit END is the only choice and
      its score counts like any other, so that a hypothesis' score is always the forced score of its tokens and END.
      `finished` is False where END was forced although another token was more probable.
    - An output of probability zero is never returned; a sentence that has no other gets an empty list.
    """

    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first.

        `state` has one carry row per sentence, as a decoder's start gives it, on the device of `limit`.
        """
        ...
