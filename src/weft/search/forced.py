"""The score that a step function gives to outputs that are known."""

import torch

from weft.core.marks import BEGIN, END
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, Step


@torch.no_grad()
def forced_scores(step: Step, state: State, targets: Padded) -> list[Hypothesis]:
    """One hypothesis per sentence, with the scores of its target [B,T] taken token by token.

    A target that ends in END is finished; END's score counts, END itself is not among the tokens.
    """
    last = torch.full_like(targets.lengths(), BEGIN)
    scores: list[list[float]] = []  # T rows of B
    attention: list[list[list[float]]] = []  # T rows of B of S, or none
    for tokens in targets.data.unbind(1):
        said, state = step(last, state)
        scores.append(said.log_probs.gather(1, tokens[:, None])[:, 0].tolist())
        if said.attention is not None:
            attention.append(said.attention.tolist())
        last = tokens
    hypotheses = []
    for sentence, length in enumerate(targets.lengths().tolist()):
        output = targets.data[sentence, :length].tolist()
        token_scores = [row[sentence] for row in scores[:length]]
        looks = [tuple(row[sentence]) for row in attention[:length]]
        hypotheses.append(_hypothesis(output, token_scores, looks))
    return hypotheses


def _hypothesis(output: list[int], token_scores: list[float], attention: list[tuple[float, ...]]) -> Hypothesis:
    finished = output[-1:] == [END]
    tokens = output[:-1] if finished else output
    return Hypothesis(tuple(tokens), sum(token_scores), tuple(token_scores), finished, tuple(attention))
