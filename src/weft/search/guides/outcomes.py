"""What became of the requirements of an output, told from its tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.marks import BEGIN
from weft.search.guides.required import Required, Requirement, Said, after, remaining, unsaid


class Outcome(NamedTuple):
    """Whether a requirement is met; and whether its last token was forced, because no more were left than needed."""

    met: bool
    forced: bool


def outcomes(
    tokens: Sequence[int], requirements: Sequence[Requirement], joins: Tensor, limit: int, ordered: int = 0
) -> list[Outcome]:
    """Of each requirement, for an output whose tokens (without END) `include` has guided with the same limit."""
    if not requirements:
        return []
    joins = joins.cpu()
    one = Required.of([requirements], joins, [ordered], torch.tensor([limit]))
    required, said = one.of_hypotheses(1), unsaid(one)
    stands = [False] * len(requirements)
    forced = [False] * len(requirements)
    pressed = False
    for count, token in enumerate([BEGIN, *tokens]):
        now = after(required, said, torch.tensor([[token]]), joins[token].view(1, 1))
        before, stands = stands, _stands(required, now)
        forced = [_or_now(*each, pressed) for each in zip(forced, before, stands, strict=True)]
        pressed = int(remaining(required, now)) >= limit - count
        said = Said(*(part[:, 0] for part in now))
    return [Outcome(met, met and was_forced) for met, was_forced in zip(stands, forced, strict=True)]


def _stands(required: Required, said: Said) -> list[bool]:
    """Which requirements are met, or will be if the output ends here."""
    complete = (required.asks & required.phrases.complete(said.begun)[..., None, :]).any(-1)
    stands: list[bool] = (said.met | complete)[0, 0].tolist()
    return stands


def _or_now(forced: bool, before: bool, stands: bool, pressed: bool) -> bool:
    """What is known of a requirement, or what is so now that it is met."""
    return pressed if stands and not before else forced
