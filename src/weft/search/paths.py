"""Frames with a blank as a step function: what tokens may follow a prefix, by the paths that spell it.

Graves 2012, section 7.5; as a score for searches: Watanabe, Hori, Kim, Hershey & Hayashi 2017, algorithm 2.

With x_t(c) the probability of class c in frame t, two numbers are kept of a prefix g for each frame t = 0 ... F: the
probability n_t that the first t frames spell g and end in its last token, and b_t that they do and end in a blank.

    n_t(g c) = (n_{t-1}(g c) + m_{t-1}(c)) x_t(c)      m_t(c) = b_t(g) if c is the last token of g, else b_t(g) + n_t(g)
    b_t(g c) = (b_{t-1}(g c) + n_{t-1}(g c)) x_t(blank)

The probability that an output begins with g c is the sum over t of m_{t-1}(c) x_t(c), for c to be told first in frame
t; that it is g, n_F(g) + b_F(g). Divided by the probability that it begins with g, these are what a step says.

What is kept of a prefix has double precision: sums of so many logarithms are taken from each other that with single
precision outputs of some hundred frames come out more probable than certain.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core import tree
from weft.core.frames import Frames
from weft.core.marks import BEGIN, END
from weft.core.state import Scores, State
from weft.search.allowed import IMPOSSIBLE

LEAST = -1e4  # a token that cannot be, on a row that no search goes on with, must not make what is not a number


class _Paths(NamedTuple):
    """Of each sentence: x_t as logarithms and as they are, a frame of the padding being a blank for certain."""

    log_probs: Tensor  # [B,F,V]
    probs: Tensor  # [B,F,V]
    blank: Tensor  # [B,F], double
    mask: Tensor  # [B,F]


class _Prefix(NamedTuple):
    """Of each hypothesis, as logarithms: n, b and the probability that an output begins so; and its last token."""

    token: Tensor  # [N,F+1]
    blank: Tensor  # [N,F+1]
    begins: Tensor  # [N]
    last: Tensor  # [N]


def start_paths(frames: Frames) -> State:
    """Before the first token: every path so far is blanks alone."""
    log_probs = frames.log_probs[..., :-1].masked_fill(~frames.mask[..., None], IMPOSSIBLE)
    blank = frames.log_probs[..., -1].masked_fill(~frames.mask, 0).double().clamp(min=LEAST)
    blanks = F.pad(blank.cumsum(1), (1, 0))
    last = torch.full((len(blank),), BEGIN, device=blank.device)
    empty = _Prefix(torch.full_like(blanks, IMPOSSIBLE), blanks, torch.zeros_like(blanks[:, 0]), last)
    return State(_Paths(log_probs, log_probs.exp(), blank, frames.mask), empty)


def step_paths(tokens: Tensor, state: State) -> tuple[Scores, State]:
    """Feed the last token of each hypothesis [N]; what may come next?"""
    paths, prefix = cast(_Paths, state.memory), cast(_Prefix, state.carry)
    longer = _longer(paths, prefix, tokens)
    prefix = cast(_Prefix, tree.where(tokens == BEGIN, prefix, longer))
    begins = _begins(paths, prefix)  # [N,V]
    begins[:, END] = torch.logaddexp(prefix.token[:, -1], prefix.blank[:, -1])
    known = prefix.begins[:, None] > IMPOSSIBLE
    log_probs = torch.where(known, begins - prefix.begins[:, None], IMPOSSIBLE)
    return Scores(log_probs.to(paths.probs.dtype), None), State(paths, prefix)


def _longer(paths: _Paths, prefix: _Prefix, tokens: Tensor) -> _Prefix:
    """The prefixes with a token more."""
    said = _of_tokens(paths, tokens)  # [N,F]
    mask = _for_each(paths.mask, tokens)
    before = _before(prefix, tokens)[:, :-1]  # [N,F]: m_{t-1}
    token = _decayed_sums(before, said).masked_fill(~mask, IMPOSSIBLE)
    token = F.pad(token, (1, 0), value=IMPOSSIBLE)
    blank = _decayed_sums(token[:, :-1], _for_each(paths.blank, tokens))
    begins = (before + said).masked_fill(~mask, IMPOSSIBLE).logsumexp(1)
    return _Prefix(token, F.pad(blank, (1, 0), value=IMPOSSIBLE), begins, tokens)


def _before(prefix: _Prefix, tokens: Tensor) -> Tensor:
    """m_t [N,F+1]: an equal token can only follow after a blank."""
    both = torch.logaddexp(prefix.token, prefix.blank)
    return torch.where((tokens == prefix.last)[:, None], prefix.blank, both)


def _decayed_sums(new: Tensor, factors: Tensor) -> Tensor:
    """s_t = (s_{t-1} + new_t) factor_t in logarithms, s_0 = 0: [N,F], [N,F] -> [N,F].

    With P_t the product of the factors up to t, s_t / P_t is the sum of new_u / P_{u-1}: no loop over the frames.
    """
    products = factors.cumsum(1)
    return products + (new - (products - factors)).logcumsumexp(1)


def _begins(paths: _Paths, prefix: _Prefix) -> Tensor:
    """The log-probability that an output begins with each prefix and then each token: [N,V]."""
    sentences = len(paths.mask)
    both = torch.logaddexp(prefix.token, prefix.blank)[:, :-1]  # [N,F]
    largest = both.amax(1, keepdim=True).clamp(min=LEAST)
    weights = (both - largest).exp().to(paths.probs.dtype).view(sentences, -1, both.shape[1])
    sums = torch.bmm(weights, paths.probs).view(len(both), -1).double()  # [N,V]
    repeated = (prefix.blank[:, :-1] + _of_tokens(paths, prefix.last)).masked_fill(
        ~_for_each(paths.mask, prefix.last), IMPOSSIBLE
    )
    return (sums.log() + largest).scatter(1, prefix.last[:, None], repeated.logsumexp(1)[:, None])


def _of_tokens(paths: _Paths, tokens: Tensor) -> Tensor:
    """x_t of the token of each hypothesis: [N,F]."""
    sentences, frames, _ = paths.log_probs.shape
    wanted = tokens.view(sentences, 1, -1).expand(-1, frames, -1)  # [B,F,K]
    said = paths.log_probs.gather(2, wanted).transpose(1, 2).reshape(len(tokens), frames)
    return said.double().clamp(min=LEAST)


def _for_each(rows: Tensor, tokens: Tensor) -> Tensor:
    """A row of each sentence [B,F] for each of its hypotheses [N,F]."""
    return rows.repeat_interleave(len(tokens) // len(rows), dim=0)
