"""CTC prefix scores as a step function (Graves 2012, section 7.5; Watanabe et al. 2017, algorithm 2).

For a prefix h and frame t, n_t(h) and b_t(h) are the probabilities of the paths of the first t frames that spell h and
end with its last token, or with a blank. The probability that an output begins with h and a token c is the sum over t
of m_{t-1} x_t(c), where x_t(c) is the probability of c in frame t and m = n + b (only b if c is the last token of h).
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.special_tokens import BOS, EOS
from weft.core.state import FrameOutput, State, StepOutput, tree_where
from weft.decoding.constraints.step_constraints import repeat_per_hypothesis
from weft.decoding.search import NEG_INF

MIN_LOG_PROB = -1e4  # finite, so that impossible tokens of dropped hypotheses do not become NaN


class _CTCFrames(NamedTuple):
    """The frames of each sentence; padding is a blank with probability 1."""

    log_probs: Tensor  # [B,F,V], log x_t
    probs: Tensor  # [B,F,V], x_t
    blank: Tensor  # [B,F], double
    mask: Tensor  # [B,F]


class _CTCPrefix(NamedTuple):
    """The prefix of each hypothesis, as logarithms."""

    token: Tensor  # [N,F+1], n_t
    blank: Tensor  # [N,F+1], b_t
    prefix_score: Tensor  # [N], the probability that an output begins with it
    last: Tensor  # [N], its last token


def initial_ctc_state(frames: FrameOutput) -> State:
    """Return the state of the empty prefix, whose paths are all blanks."""
    log_probs = frames.log_probs[..., :-1].masked_fill(~frames.mask[..., None], NEG_INF)
    blank = frames.log_probs[..., -1].masked_fill(~frames.mask, 0).double().clamp(min=MIN_LOG_PROB)
    blanks = F.pad(blank.cumsum(1), (1, 0))
    last = torch.full((len(blank),), BOS, device=blank.device)
    empty = _CTCPrefix(torch.full_like(blanks, NEG_INF), blanks, torch.zeros_like(blanks[:, 0]), last)
    return State(_CTCFrames(log_probs, log_probs.exp(), blank, frames.mask), empty)


def ctc_prefix_step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
    """Step function: feed the last token of each hypothesis [N], return the log-probabilities of the next."""
    frames, prefix = cast(_CTCFrames, state.memory), cast(_CTCPrefix, state.carry)
    prefix = cast(_CTCPrefix, tree_where(tokens == BOS, prefix, _extend_prefix(frames, prefix, tokens)))
    scores = _next_prefix_scores(frames, prefix)  # [N,V]
    scores[:, EOS] = torch.logaddexp(prefix.token[:, -1], prefix.blank[:, -1])
    possible = prefix.prefix_score[:, None] > NEG_INF
    log_probs = torch.where(possible, scores - prefix.prefix_score[:, None], NEG_INF)
    return StepOutput(log_probs.to(frames.probs.dtype), None), State(frames, prefix)


def _extend_prefix(frames: _CTCFrames, prefix: _CTCPrefix, tokens: Tensor) -> _CTCPrefix:
    scores = _token_scores(frames, tokens)  # [N,F]
    mask = repeat_per_hypothesis(frames.mask, len(tokens))
    repeated = (tokens == prefix.last)[:, None]
    before = torch.where(repeated, prefix.blank, torch.logaddexp(prefix.token, prefix.blank))[:, :-1]  # m_{t-1}
    token = _decayed_sums(before, scores).masked_fill(~mask, NEG_INF)
    token = F.pad(token, (1, 0), value=NEG_INF)
    blank = _decayed_sums(token[:, :-1], repeat_per_hypothesis(frames.blank, len(tokens)))
    prefix_score = (before + scores).masked_fill(~mask, NEG_INF).logsumexp(1)
    return _CTCPrefix(token, F.pad(blank, (1, 0), value=NEG_INF), prefix_score, tokens)


def _decayed_sums(new: Tensor, factors: Tensor) -> Tensor:
    """s_t = (s_{t-1} + new_t) factor_t in logarithms, s_0 = 0: [N,F], [N,F] -> [N,F].

    With P_t the product of the factors up to t, s_t / P_t is the sum of new_u / P_{u-1}: no loop over the frames.
    """
    products = factors.cumsum(1)
    return products + (new - (products - factors)).logcumsumexp(1)


def _next_prefix_scores(frames: _CTCFrames, prefix: _CTCPrefix) -> Tensor:
    """[N,V]: the log-probability that an output begins with each prefix followed by each token."""
    both = torch.logaddexp(prefix.token, prefix.blank)[:, :-1]  # [N,F]
    largest = both.amax(1, keepdim=True).clamp(min=MIN_LOG_PROB)
    weights = (both - largest).exp().to(frames.probs.dtype).view(len(frames.mask), -1, both.shape[1])
    sums = torch.bmm(weights, frames.probs).view(len(both), -1).double()  # [N,V]
    repeated = (prefix.blank[:, :-1] + _token_scores(frames, prefix.last)).masked_fill(
        ~repeat_per_hypothesis(frames.mask, len(prefix.last)), NEG_INF
    )
    return (sums.log() + largest).scatter(1, prefix.last[:, None], repeated.logsumexp(1)[:, None])


def _token_scores(frames: _CTCFrames, tokens: Tensor) -> Tensor:
    """[N,F]: log x_t of the token of each hypothesis."""
    sentences, length, _ = frames.log_probs.shape
    indices = tokens.view(sentences, 1, -1).expand(-1, length, -1)  # [B,F,K]
    scores = frames.log_probs.gather(2, indices).transpose(1, 2).reshape(len(tokens), length)
    return scores.double().clamp(min=MIN_LOG_PROB)
