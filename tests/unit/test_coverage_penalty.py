"""The coverage penalty: its value, its effect on beam search, and padding."""

import math

import pytest
import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, brute_force, fixed, normalized_score
from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, StepOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.length_penalty import AverageLengthPenalty, NoLengthPenalty, coverage_scores


def coverage(hypothesis: Hypothesis) -> float:
    """Return the coverage term of Wu et al. 2016, equation 14, without beta."""
    sums = [sum(column) for column in zip(*hypothesis.attention, strict=True)]
    return sum(math.log(min(total, 1.0)) for total in sums)


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_wide_beam_finds_the_best_hypotheses(beta: float) -> None:
    toy = Toy(4, end=-0.5)
    toy.attention = toy.attention.softmax(1)

    def rank(hypothesis: Hypothesis) -> float:
        return normalized_score(hypothesis, AverageLengthPenalty()) + beta * coverage(hypothesis)

    everything = brute_force(toy, 6, LIMIT, AverageLengthPenalty())
    expected = [sorted(row, key=lambda hypothesis: -rank(hypothesis))[:3] for row in everything]
    found = BeamSearch(size=100, n_best=3, coverage_penalty=beta, stop_rule="limit")(toy, toy.start(6), LIMIT, LINES)
    assert [[hypothesis.tokens for hypothesis in row] for row in found] == [
        [hypothesis.tokens for hypothesis in row] for row in expected
    ]
    assert [row[0].tokens for row in everything] != [row[0].tokens for row in found]  # the penalty changes the results


class PaddedToy(Toy):
    """The same toy in a batch of longer sentences: its source positions are followed by padding."""

    def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        scores, state = super().__call__(tokens, state)
        assert scores.attention is not None
        padded = torch.cat([scores.attention, torch.zeros(len(tokens), 4, dtype=torch.float64)], dim=1)
        return scores._replace(attention=padded), state


@pytest.mark.parametrize("stop_rule", ["finished", "limit"])
def test_padding_does_not_change_results(stop_rule: str) -> None:
    beam = BeamSearch(size=3, n_best=2, length_penalty=NoLengthPenalty, coverage_penalty=0.7, stop_rule=stop_rule)  # type: ignore[arg-type]
    short, long = (toy(4, end=0.5) for toy in (Toy, PaddedToy))
    unpadded, padded = (beam(toy, toy.start(6), torch.full((6,), 20), LINES) for toy in (short, long))
    assert [[hypothesis.tokens for hypothesis in row] for row in unpadded] == [
        [hypothesis.tokens for hypothesis in row] for row in padded
    ]
    assert len(short.row_counts) == len(long.row_counts)


def test_coverage_scores_by_hand() -> None:
    sums = torch.tensor([[0.5, 2.0, 0.0, 0.0], [1.0, 0.1, 0.2, 0.0]])
    assert coverage_scores(sums, torch.tensor([[0, 1, 1]]))[0].tolist() == pytest.approx(
        [math.log(0.5) + math.log(1e-6), math.log(0.1) + math.log(0.2), math.log(0.1) + math.log(0.2)]
    )  # the last position is padding


def test_model_without_attention_is_rejected() -> None:
    toy, state = fixed([0, 0, -1, -2, -3])
    with pytest.raises(UserError, match="coverage_penalty needs a model with attention"):
        BeamSearch(coverage_penalty=0.2)(toy, state, torch.tensor([3]), LINES[:1])
