"""Outputs that begin with given tokens: surely, or rather than not."""

from typing import cast

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside, for_each


def force_prefix(step: Step, state: State, prefixes: Padded) -> tuple[Step, State]:
    """Each output begins with the tokens of its row [B,P], perhaps none, and goes on freely.

    Of a token in a prefix the score is what the model says of it, so that an output's score remains its forced score.
    """
    if not prefixes.mask.any():
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:  # noqa: ARG001 (as all guides)
        said = cast(Tensor, own.carry)
        given, inside = _given(own.memory, said)
        forbidden = inside[:, None].expand_as(scores.log_probs).scatter(1, given[:, None], False)
        return scores._replace(log_probs=scores.log_probs.masked_fill(forbidden, IMPOSSIBLE)), said + 1

    return beside(step, state, State(tuple(prefixes), torch.zeros_like(prefixes.lengths())), advise)


def bias_prefix(step: Step, state: State, prefixes: Padded, weight: Tensor) -> tuple[Step, State]:
    """Outputs are drawn towards the tokens of their row [B,P], as far as they follow them. Arivazhagan et al. 2020.

    With w the weight of the sentence [B], from 0 up to but without 1, while all tokens so far are those of the prefix:

        p'(token) = (1 - w) p(token) + w, if the token is the next one of the prefix, else (1 - w) p(token)

    From the first token on that is another one, and after the prefix, p' = p. (CTranslate2 has w as prefix_bias_beta.)
    """
    if not (prefixes.mask & (weight > 0)[:, None]).any():
        return step, state

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        (data, mask, weights), (said, last, follows) = cast(tuple[tuple[Tensor, ...], tuple[Tensor, ...]], own)
        follows = follows & ((said == 0) | (tokens == last))
        given, inside = _given((data, mask), said)
        weight = for_each(weights, len(tokens)).to(scores.log_probs.dtype)
        drawn = follows & inside & (weight > 0)
        log_probs = torch.where(drawn[:, None], _drawn(scores.log_probs, given, weight), scores.log_probs)
        return scores._replace(log_probs=log_probs), (said + 1, given, follows & inside)

    nothing = torch.zeros_like(prefixes.lengths())
    own = State((*prefixes, weight), (nothing, nothing, torch.ones_like(nothing, dtype=torch.bool)))
    return beside(step, state, own, advise)


def _given(prefixes: Tree, said: Tensor) -> tuple[Tensor, Tensor]:
    """The token of the prefix that comes after so many [N], and whether there is one [N]."""
    data, mask = cast(tuple[Tensor, Tensor], prefixes)
    place = said.clamp(max=data.shape[1] - 1)[:, None]
    inside = for_each(mask, len(said)).gather(1, place)[:, 0] & (said < data.shape[1])
    return for_each(data, len(said)).gather(1, place)[:, 0], inside


def _drawn(log_probs: Tensor, given: Tensor, weight: Tensor) -> Tensor:
    """log p' [N,V] of the equation."""
    less = log_probs + torch.log1p(-weight)[:, None]
    place = given[:, None]
    return less.scatter(1, place, torch.logaddexp(less.gather(1, place), weight.log()[:, None]))
