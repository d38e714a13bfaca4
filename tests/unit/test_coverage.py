"""The coverage penalty: what it is, what it changes, and that a bound on it is true."""

import math

import pytest
import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, brute_force, fixed, normalised
from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, StepOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.length_penalty import AverageLengthPenalty, NoLengthPenalty, coverage_scores


def plainly(hypothesis: Hypothesis) -> float:
    """Wu et al. 2016, equation 14, without beta."""
    sums = [sum(column) for column in zip(*hypothesis.attention, strict=True)]
    return sum(math.log(min(one, 1.0)) for one in sums)


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_a_wide_beam_finds_the_best_of_all(beta: float) -> None:
    toy = Toy(4, end=-0.5)
    toy.looks = toy.looks.softmax(1)

    def rank(one: Hypothesis) -> float:
        return normalised(one, AverageLengthPenalty()) + beta * plainly(one)

    everything = brute_force(toy, 6, LIMIT, AverageLengthPenalty())
    wanted = [sorted(row, key=lambda one: -rank(one))[:3] for row in everything]
    found = BeamSearch(size=100, n_best=3, coverage_penalty=beta, stop_rule="limit")(toy, toy.start(6), LIMIT, LINES)
    assert [[one.tokens for one in row] for row in found] == [[one.tokens for one in row] for row in wanted]
    assert [row[0].tokens for row in everything] != [row[0].tokens for row in found]  # it matters


class Padding(Toy):
    """The same toy in a batch of longer sentences: its places are followed by padding."""

    def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        scores, state = super().__call__(tokens, state)
        assert scores.attention is not None
        padded = torch.cat([scores.attention, torch.zeros(len(tokens), 4, dtype=torch.float64)], dim=1)
        return scores._replace(attention=padded), state


@pytest.mark.parametrize("stop", ["finished", "limit"])
def test_padding_changes_nothing(stop: str) -> None:
    beam = BeamSearch(size=3, n_best=2, length_penalty=NoLengthPenalty, coverage_penalty=0.7, stop_rule=stop)  # type: ignore[arg-type]
    short, long = (toy(4, end=0.5) for toy in (Toy, Padding))
    one, other = (beam(toy, toy.start(6), torch.full((6,), 20), LINES) for toy in (short, long))
    assert [[found.tokens for found in row] for row in one] == [[found.tokens for found in row] for row in other]
    assert len(short.rows_seen) == len(long.rows_seen)


def test_prices_by_hand() -> None:
    sums = torch.tensor([[0.5, 2.0, 0.0, 0.0], [1.0, 0.1, 0.2, 0.0]])
    assert coverage_scores(sums, torch.tensor([[0, 1, 1]]))[0].tolist() == pytest.approx(
        [math.log(0.5) + math.log(1e-6), math.log(0.1) + math.log(0.2), math.log(0.1) + math.log(0.2)]
    )  # the last place is nobody's


def test_a_model_that_does_not_look() -> None:
    toy, state = fixed([0, 0, -1, -2, -3])
    with pytest.raises(UserError, match="coverage_penalty needs a model with attention"):
        BeamSearch(coverage_penalty=0.2)(toy, state, torch.tensor([3]), LINES[:1])
