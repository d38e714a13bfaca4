"""How a guide is put around a step function."""

from collections.abc import Callable
from typing import TypeAlias, cast

from torch import Tensor

from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.mixing import together

Advise: TypeAlias = Callable[[Scores, Tensor, State], tuple[Scores, Tree]]


def beside(step: Step, state: State, own: State, advise: Advise) -> tuple[Step, State]:
    """The step with a guide that has a state of its own.

    advise(scores of the step, the tokens [N] that were fed, the guide's own state before them) gives the scores as they
    are to be, and the guide's carry after the tokens.
    """

    def guided(tokens: Tensor, both: State) -> tuple[Scores, State]:
        memory, own_memory = cast(tuple[Tree, Tree], both.memory)
        carry, own_carry = cast(tuple[Tree, Tree], both.carry)
        scores, after = step(tokens, State(memory, carry))
        scores, own_after = advise(scores, tokens, State(own_memory, own_carry))
        return scores, together(after, State(own_memory, own_after))

    return guided, together(state, own)


def for_each(rows: Tensor, count: int) -> Tensor:
    """A row of each sentence [B,...] for each of all `count` hypotheses, those of a sentence side by side [N,...]."""
    return rows.repeat_interleave(count // len(rows), dim=0)
