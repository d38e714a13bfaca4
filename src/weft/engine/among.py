"""Steps of a model that choose among some classes, a list for each sentence: no others are computed."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.model.model import Model
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import for_each


def among(model: Model, start: State, lists: Sequence[Tensor]) -> tuple[Step, State]:
    """The step function of a model, and its first state, with the classes of each sentence.

    The product of the head is made for all classes that a list of the batch has; then each sentence has its own alone,
    and their probabilities sum to 1. So what is said of a sentence does not depend on those beside it.
    """
    device = model.head.weight.device
    classes = torch.unique(torch.cat([*lists])).to(device)  # [C]
    listed = torch.stack([torch.isin(classes, one.to(device)) for one in lists])  # [B,C]
    weight, bias = model.head.rows(classes), None if model.head.bias is None else model.head.bias[classes]
    whole = len(model.head.weight)

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        memory, own = cast(tuple[Tree, Tensor], state.memory)
        hidden, attention, after = model.advance(tokens, State(memory, state.carry))
        log_probs = F.linear(hidden, weight, bias).masked_fill(~for_each(own, len(tokens)), IMPOSSIBLE).log_softmax(-1)
        spread = log_probs.new_full((len(tokens), whole), IMPOSSIBLE).index_copy_(1, classes, log_probs)
        return Scores(spread, attention), State((after.memory, own), after.carry)

    return step, State((start.memory, listed), start.carry)
