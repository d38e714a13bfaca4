"""What a step function would have said instead, at each token of outputs that are known."""

import torch

from weft.core.marks import BEGIN
from weft.core.padded import Padded
from weft.core.state import State, Step
from weft.search.allowed import allowed
from weft.search.top import top


@torch.no_grad()
def likeliest_tokens(step: Step, state: State, targets: Padded, count: int) -> list[list[list[tuple[int, float]]]]:
    """For each sentence, for each token of its target [B,T], the `count` likeliest tokens and their log-probabilities.

    Each after the target's own tokens before it, the best first; never PAD or BEGIN, unless there is nothing else.
    """
    last = torch.full_like(targets.lengths(), BEGIN)
    columns: list[list[list[tuple[int, float]]]] = []  # T of B
    for tokens in targets.data.unbind(1):
        said, state = step(last, state)
        log_probs, _ = allowed(said.log_probs, torch.zeros_like(last, dtype=torch.bool))
        scores, ids = top(log_probs, count)
        rows = zip(ids[:, :count].tolist(), scores[:, :count].tolist(), strict=True)
        columns.append([list(zip(*row, strict=True)) for row in rows])
        last = tokens
    lengths = targets.lengths().tolist()
    return [[column[sentence] for column in columns[:length]] for sentence, length in enumerate(lengths)]
