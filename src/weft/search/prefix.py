"""Outputs whose first tokens are given."""

import torch
from torch import Tensor

from weft.core.marks import BEGIN
from weft.core.state import Scores, State, Step


@torch.no_grad()
def after_prefix(step: Step, state: State, prefix: Tensor) -> tuple[Step, State]:
    """What a search needs to go on after these tokens [P], from the state of one sentence: it finds what follows them.

    BEGIN and the prefix, but for the last of them, are fed here. A search feeds BEGIN first: then the last takes its
    place. The state's row may be repeated, for several outputs after one prefix.
    """
    given = torch.cat([prefix.new_tensor([BEGIN]), prefix])
    for token in given[:-1]:
        _, state = step(token[None], state)

    def go_on(tokens: Tensor, state: State) -> tuple[Scores, State]:
        return step(tokens.masked_fill(tokens == BEGIN, given[-1]), state)

    return go_on, state
