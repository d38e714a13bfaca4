"""Values exchanged between models and search.

Search knows a step function `(last tokens [N], State) -> (StepOutput, State)`, never a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

TensorTree: TypeAlias = "Tensor | tuple[TensorTree, ...]"  # axis 0 of every tensor is the batch


def tree_map(function: Callable[..., Tensor], *trees: TensorTree) -> TensorTree:
    """Return the tree of the function's values; it is called with the corresponding tensors of all trees."""
    first = trees[0]
    if isinstance(first, Tensor):
        return function(*trees)
    branches = [tree_map(function, *branch) for branch in zip(*trees, strict=True)]
    return type(first)(*branches) if hasattr(first, "_fields") else tuple(branches)


def tree_select(tree: TensorTree, rows: Tensor) -> TensorTree:
    """Return these rows of every tensor, in this order; a row may occur several times."""
    return tree_map(lambda tensor: tensor.index_select(0, rows), tree)


def tree_where(rows: Tensor, yes: TensorTree, no: TensorTree) -> TensorTree:
    """Return each row of every tensor from `yes` where rows [N] is True, else from `no`."""
    return tree_map(lambda one, other: torch.where(rows.view(-1, *[1] * (one.dim() - 1)), one, other), yes, no)


class State(NamedTuple):
    """A decoder's state between two steps.

    memory has a row per sentence (B), carry a row per hypothesis (N = B K, those of a sentence side by side).
    """

    memory: TensorTree
    carry: TensorTree

    def select(self, sentences: Tensor, hypotheses: Tensor) -> State:
        """Return these rows of memory and these rows of carry."""
        return State(tree_select(self.memory, sentences), tree_select(self.carry, hypotheses))


class BankTransitions(NamedTuple):
    """How the next token changes a hypothesis' bank: the number of required tokens that it contains.

    A beam search reserves places for hypotheses of every bank (Post & Vilar 2018).
    """

    tokens: Tensor  # [N,W], the tokens that lead to another bank; PAD where there are fewer
    banks: Tensor  # [N,W], the bank after each of `tokens`
    other_bank: Tensor  # [N], the bank after any other token; lower than before where a phrase is broken off


class StepOutput(NamedTuple):
    """The result of a decoding step. Its log-probabilities are a new tensor, which the caller may overwrite."""

    log_probs: Tensor  # [N,V], of the next token
    attention: Tensor | None  # [N,S], over the source positions
    bank_transitions: BankTransitions | None = None


StepFunction: TypeAlias = Callable[[Tensor, State], tuple[StepOutput, State]]  # called with the last tokens [N]


class FrameOutput(NamedTuple):
    """The output of a frame head: a distribution over the classes for each frame.

    With a blank (connectionist temporal classification), C is the vocabulary and one more class, the last, for "no
    token". Without one, frame i is the i-th token of the output, EOS included.
    """

    log_probs: Tensor  # [B,F,C]
    mask: Tensor  # [B,F], True = real
    lengths: Tensor | None = None  # [B,L], log-probabilities of 0 ... L - 1 tokens, without EOS; None: EOS ends them


class Hypothesis(NamedTuple):
    """An output of a search. `score` is the sum of `token_scores`, the last of which is that of EOS."""

    tokens: tuple[int, ...]  # without EOS
    score: float
    token_scores: tuple[float, ...]
    finished: bool  # False: EOS was forced at the length limit, though another token was likelier
    attention: tuple[tuple[float, ...], ...] = ()  # a row per token score, over the source positions
