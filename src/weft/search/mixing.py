"""Two step functions as one."""

from typing import cast

from torch import Tensor

from weft.core.state import Scores, State, Step
from weft.core.tree import Tree


def mixed(step: Step, other: Step, weight: float) -> Step:
    """log p = (1 - w) log p_step + w log p_other, of states that `together` has put together."""

    def mix(tokens: Tensor, state: State) -> tuple[Scores, State]:
        (memory, other_memory), (carry, other_carry) = _parts(state.memory), _parts(state.carry)
        first, after = step(tokens, State(memory, carry))
        second, other_after = other(tokens, State(other_memory, other_carry))
        log_probs = (1 - weight) * first.log_probs + weight * second.log_probs
        return Scores(log_probs, first.attention), together(after, other_after)

    return mix


def together(state: State, other: State) -> State:
    """One state for both: its rows are chosen and reordered together."""
    return State((state.memory, other.memory), (state.carry, other.carry))


def _parts(both: Tree) -> tuple[Tree, Tree]:
    return cast(tuple[Tree, Tree], both)
