"""Target prefixes: forced, biased (Arivazhagan et al. 2020), or fed before the search starts."""

from typing import cast

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.special_tokens import BOS
from weft.core.state import State, StepFunction, StepOutput, TensorTree
from weft.decoding.constraints.step_constraints import repeat_per_hypothesis, wrap_step
from weft.decoding.search import NEG_INF


@torch.no_grad()
def continue_prefix(step: StepFunction, state: State, prefix: Tensor) -> tuple[StepFunction, State]:
    """Feed BOS and all but the last token of a prefix [P]; return the step function and state for its continuation.

    The state is that of one sentence; its row may be repeated to search for several continuations. A search feeds BOS
    first, which is replaced by the last token of the prefix.
    """
    tokens = torch.cat([prefix.new_tensor([BOS]), prefix])
    for token in tokens[:-1]:
        _, state = step(token[None], state)

    def continued_step(last: Tensor, state: State) -> tuple[StepOutput, State]:
        return step(last.masked_fill(last == BOS, tokens[-1]), state)

    return continued_step, state


def force_prefix(step: StepFunction, state: State, prefixes: Padded) -> tuple[StepFunction, State]:
    """Wrap a step function so that each output begins with the tokens of its row [B,P], if any.

    Prefix tokens have the scores of the model, so that the score of an output remains its forced score.
    """
    if not prefixes.mask.any():
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:  # noqa: ARG001
        length = cast(Tensor, own.carry)
        prefix_token, is_inside = _next_prefix_tokens(own.memory, length)
        forbidden = is_inside[:, None].expand_as(output.log_probs).scatter(1, prefix_token[:, None], False)
        return output._replace(log_probs=output.log_probs.masked_fill(forbidden, NEG_INF)), length + 1

    return wrap_step(step, state, State(tuple(prefixes), torch.zeros_like(prefixes.lengths())), constrain)


def bias_prefix(step: StepFunction, state: State, prefixes: Padded, weight: Tensor) -> tuple[StepFunction, State]:
    """Wrap a step function so that outputs prefer the tokens of their row [B,P] (Arivazhagan et al. 2020).

    With the weight w of the sentence [B], 0 <= w < 1, while all tokens so far are those of the prefix:

        p'(token) = (1 - w) p(token) + w, if the token is the next one of the prefix, else (1 - w) p(token)

    After the first other token, and after the prefix, p' = p. (w is prefix_bias_beta in CTranslate2.)
    """
    if not (prefixes.mask & (weight > 0)[:, None]).any():
        return step, state

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        (data, mask, weights), (length, expected, follows) = cast(tuple[tuple[Tensor, ...], tuple[Tensor, ...]], own)
        follows = follows & ((length == 0) | (tokens == expected))
        prefix_token, is_inside = _next_prefix_tokens((data, mask), length)
        weight = repeat_per_hypothesis(weights, len(tokens)).to(output.log_probs.dtype)
        is_biased = follows & is_inside & (weight > 0)
        biased = output.log_probs + torch.log1p(-weight)[:, None]
        index = prefix_token[:, None]
        biased = biased.scatter(1, index, torch.logaddexp(biased.gather(1, index), weight.log()[:, None]))
        log_probs = torch.where(is_biased[:, None], biased, output.log_probs)
        return output._replace(log_probs=log_probs), (length + 1, prefix_token, follows & is_inside)

    zeros = torch.zeros_like(prefixes.lengths())
    own = State((*prefixes, weight), (zeros, zeros, torch.ones_like(zeros, dtype=torch.bool)))
    return wrap_step(step, state, own, constrain)


def _next_prefix_tokens(prefixes: TensorTree, length: Tensor) -> tuple[Tensor, Tensor]:
    """The prefix token at position `length` [N], and whether the prefix is that long [N]."""
    data, mask = cast(tuple[Tensor, Tensor], prefixes)
    index = length.clamp(max=data.shape[1] - 1)[:, None]
    is_inside = repeat_per_hypothesis(mask, len(length)).gather(1, index)[:, 0] & (length < data.shape[1])
    return repeat_per_hypothesis(data, len(length)).gather(1, index)[:, 0], is_inside
