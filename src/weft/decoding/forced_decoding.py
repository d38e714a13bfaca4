"""Forced decoding: the scores of known outputs under a step function, and the best alternatives to their tokens."""

from collections.abc import Iterator

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS
from weft.core.state import Hypothesis, State, StepFunction, StepOutput
from weft.decoding.search import mask_invalid_tokens, stable_topk


def _forced_steps(step: StepFunction, state: State, targets: Padded) -> Iterator[tuple[Tensor, StepOutput]]:
    """Yield, for each position of the targets [B,T], its tokens [B] and the step output before they are fed."""
    last = torch.full_like(targets.lengths(), BOS)
    for tokens in targets.data.unbind(1):
        output, state = step(last, state)
        yield tokens, output
        last = tokens


@torch.no_grad()
def forced_scores(step: StepFunction, state: State, targets: Padded) -> list[Hypothesis]:
    """Return one hypothesis per sentence with the scores of its target [B,T].

    A target that ends with EOS is finished; the score of EOS counts, EOS itself is not among the tokens.
    """
    scores: list[list[float]] = []  # T rows of B
    attention: list[list[list[float]]] = []  # T rows of B of S, or none
    for tokens, output in _forced_steps(step, state, targets):
        scores.append(output.log_probs.gather(1, tokens[:, None])[:, 0].tolist())
        if output.attention is not None:
            attention.append(output.attention.tolist())
    hypotheses = []
    for sentence, length in enumerate(targets.lengths().tolist()):
        target = targets.data[sentence, :length].tolist()
        finished = target[-1:] == [EOS]
        token_scores = tuple(row[sentence] for row in scores[:length])
        weights = tuple(tuple(row[sentence]) for row in attention[:length])
        output_tokens = tuple(target[:-1] if finished else target)
        hypotheses.append(Hypothesis(output_tokens, sum(token_scores), token_scores, finished, weights))
    return hypotheses


@torch.no_grad()
def token_alternatives(
    step: StepFunction, state: State, targets: Padded, count: int
) -> list[list[list[tuple[int, float]]]]:
    """Return the `count` most probable tokens and their log-probabilities at each position of each target [B,T].

    Each is conditioned on the target's own previous tokens; best first; never PAD or BOS, unless nothing else is left.
    """
    columns: list[list[list[tuple[int, float]]]] = []  # T of B
    for tokens, output in _forced_steps(step, state, targets):
        log_probs, _ = mask_invalid_tokens(output.log_probs, torch.zeros_like(tokens, dtype=torch.bool))
        scores, ids = stable_topk(log_probs, count)
        rows = zip(ids[:, :count].tolist(), scores[:, :count].tolist(), strict=True)
        columns.append([list(zip(*row, strict=True)) for row in rows])
    lengths = targets.lengths().tolist()
    return [[column[sentence] for column in columns[:length]] for sentence, length in enumerate(lengths)]
