"""Constraints as wrappers around a step function, each with a carry of its own: the wrapper itself, minimum
length, no repeated n-grams (Paulus et al. 2018, section 2.5), and restricted vocabularies.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias, cast

import torch
from torch import Tensor

from weft.core.special_tokens import EOS, PAD
from weft.core.state import State, StepFunction, StepOutput, TensorTree
from weft.decoding.fusion import join_states, split_states
from weft.decoding.search import NEG_INF

# (output of the step, the tokens [N] that were fed, the constraint's own state before them)
# -> (constrained output, the constraint's carry after the tokens)
ConstrainOutput: TypeAlias = Callable[[StepOutput, Tensor, State], tuple[StepOutput, TensorTree]]


def wrap_step(step: StepFunction, state: State, own: State, constrain: ConstrainOutput) -> tuple[StepFunction, State]:
    """Return a step function whose output is constrained, and its initial state; own: the constraint's own state."""

    def constrained_step(tokens: Tensor, joined: State) -> tuple[StepOutput, State]:
        inner, own = split_states(joined)
        output, after = step(tokens, inner)
        output, own_carry = constrain(output, tokens, own)
        return output, join_states(after, State(own.memory, own_carry))

    return constrained_step, join_states(state, own)


def repeat_per_hypothesis(rows: Tensor, count: int) -> Tensor:
    """Repeat the row of each sentence [B,...] for each of its hypotheses, `count` in all: [N,...]."""
    return rows.repeat_interleave(count // len(rows), dim=0)


def mask_of_tokens(tokens: Tensor, like: Tensor) -> Tensor:
    """Return a mask of the shape of `like` [N,V], True for the tokens [N,W] except PAD."""
    mask = torch.zeros_like(like, dtype=torch.bool).scatter(1, tokens, True)
    mask[:, PAD] = False
    return mask


def min_lengths(source: Tensor, factor: float, extra: int, limit: Tensor) -> Tensor:
    """[B]: factor x source lengths [B] + extra, at most the limit [B]."""
    return torch.minimum((source * factor).long() + extra, limit)


def enforce_min_length(step: StepFunction, state: State, lengths: Tensor) -> tuple[StepFunction, State]:
    """Wrap a step function so that EOS is impossible before an output has `lengths` [B] tokens."""
    if not (lengths > 0).any():
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        lengths, length = cast(tuple[Tensor, Tensor], own)
        too_short = length < repeat_per_hypothesis(lengths, len(tokens))
        output.log_probs[:, EOS].masked_fill_(too_short, NEG_INF)
        return output, length + 1

    return wrap_step(step, state, State(lengths, torch.zeros_like(lengths)), constrain)


def block_repeated_ngrams(step: StepFunction, state: State, size: int, exempt: Tensor) -> tuple[StepFunction, State]:
    """Wrap a step function so that no n-gram of `size` tokens is repeated in an output; 0: no constraint.

    The first `exempt` [B] tokens of an output, those of a forced prefix, are not constrained. Neither are tokens that
    lead to a required phrase: wrap the result of `require_phrases`.
    """
    if not size:
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        exempt, before = cast(tuple[Tensor, Tensor], own)
        history = torch.cat([before, tokens[:, None]], dim=1)  # [N,t+1], BOS the first
        repeated = _repeated_ngram_mask(history, size, output.log_probs)
        repeated &= (repeat_per_hypothesis(exempt, len(tokens)) < history.shape[1])[:, None]
        banks = output.bank_transitions
        if banks is not None:
            leading = banks.tokens.masked_fill(banks.banks <= banks.other_bank[:, None], PAD)
            repeated &= ~mask_of_tokens(leading, output.log_probs)
        return output._replace(log_probs=output.log_probs.masked_fill(repeated, NEG_INF)), history

    return wrap_step(step, state, State(exempt, exempt.new_zeros(len(exempt), 0)), constrain)


def _repeated_ngram_mask(history: Tensor, size: int, like: Tensor) -> Tensor:
    """[N,V]: the tokens that would complete an n-gram of the history [N,t]."""
    if history.shape[1] < size:
        return torch.zeros_like(like, dtype=torch.bool)
    ngrams = history.unfold(1, size, 1)  # [N,t-size+1,size]
    last = history[:, history.shape[1] - size + 1 :]
    matching = (ngrams[..., :-1] == last[:, None]).all(2)
    return mask_of_tokens(ngrams[..., -1].masked_fill(~matching, PAD), like)


def restrict_vocabulary(step: StepFunction, state: State, allowed: Tensor) -> tuple[StepFunction, State]:
    """Wrap a step function so that each output consists of the tokens that are True in its row [B,V]."""
    if allowed.all():
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        forbidden = repeat_per_hypothesis(cast(Tensor, own.memory), len(tokens))
        return output._replace(log_probs=output.log_probs.masked_fill(forbidden, NEG_INF)), own.carry

    return wrap_step(step, state, State(~allowed, ()), constrain)


def vocabulary_masks(vocabularies: Sequence[Collection[int] | None], size: int) -> Tensor:
    """[B,V]: True for EOS and the tokens of each vocabulary; None: for all of the `size` tokens."""
    allowed = torch.zeros(len(vocabularies), size, dtype=torch.bool)
    for row, tokens in zip(allowed, vocabularies, strict=True):
        row[slice(None) if tokens is None else [EOS, *tokens]] = True
    return allowed
