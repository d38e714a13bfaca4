"""What a decoder knows between two steps, as a value; and what search needs of a model: a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from torch import Tensor

from weft.core import tree
from weft.core.tree import Tree


class State(NamedTuple):
    """memory has a row per sentence (B), carry a row per hypothesis (N = B K, those of a sentence side by side)."""

    memory: Tree
    carry: Tree

    def select(self, sentences: Tensor, hypotheses: Tensor) -> State:
        """These rows of memory and these rows of carry: what beams, ensembles and leaving sentences need."""
        return State(tree.select(self.memory, sentences), tree.select(self.carry, hypotheses))


class Steer(NamedTuple):
    """What must still come, for a search that prunes: it keeps places for hypotheses of every bank.

    A hypothesis' bank is how many of its required tokens it has said. A token of `wanted` leads to the bank beside it,
    any other token to `others` (less than now, where a phrase breaks off).
    """

    wanted: Tensor  # [N,W], ids; PAD where there are fewer
    banks: Tensor  # [N,W], after the token of `wanted`
    others: Tensor  # [N], after any other token
    required: Tensor  # [N], the bank in which END is allowed


class Scores(NamedTuple):
    """What one step says: log-probabilities of the next token [N,V], where it looked [N,S], what must still come.

    The log-probabilities are made anew by every step: whoever asked for them may write into them.
    """

    log_probs: Tensor
    attention: Tensor | None
    steer: Steer | None = None


Step: TypeAlias = Callable[[Tensor, State], tuple[Scores, State]]  # last tokens [N] -> scores, the state after them


class Hypothesis(NamedTuple):
    """One output. `score` is the sum of `token_scores`, of which the last is the end mark's."""

    tokens: tuple[int, ...]  # without the end mark
    score: float
    token_scores: tuple[float, ...]
    finished: bool  # False: the end mark was forced at the length limit, though another token was likelier
    attention: tuple[tuple[float, ...], ...] = ()  # a row per token score, over the source positions
