"""Diverse beam search: groups, their penalty and the merged n-best list."""

import pytest
import torch

from unit.test_search import LIMIT, LINES, Toy, fixed, normalized_score
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch, StopRule
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.length_penalty import AverageLengthPenalty, NoLengthPenalty


@pytest.mark.parametrize("stop", ["finished", "limit", "first", "top"])
@pytest.mark.parametrize("seed", range(2))
def test_one_group_equals_beam_search(stop: StopRule, seed: int) -> None:
    toy = Toy(seed, end=-0.5)
    diverse = DiverseBeamSearch(size=3, groups=1, diversity=2.0, n_best=2, stop_rule=stop)
    assert diverse(toy, toy.start(6), LIMIT, LINES) == BeamSearch(size=3, n_best=2, stop_rule=stop)(
        toy, toy.start(6), LIMIT, LINES
    )


@pytest.mark.parametrize(("diversity", "expected"), [(0.0, [(3,)]), (0.5, [(3,)]), (1.5, [(3,), (4,)])])
def test_group_takes_another_token_if_the_penalty_outweighs_the_score(diversity: float, expected: list[object]) -> None:
    toy, state = fixed([0, 0, -9, -1, -2, -9], [0, 0, -0.1, -9, -9, -9])
    search = DiverseBeamSearch(
        size=2, groups=2, diversity=diversity, n_best=2, length_penalty=NoLengthPenalty, stop_rule="top"
    )
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == expected  # no output occurs twice
    assert [hypothesis.score for hypothesis in found] == pytest.approx(
        [-1.1, -2.1][: len(found)]
    )  # scores exclude the penalty


def test_third_group_avoids_both_others() -> None:
    toy, state = fixed([0, 0, -9, -1, -1.2, -1.4], [0, 0, -0.1, -9, -9, -9])
    search = DiverseBeamSearch(
        size=3, groups=3, diversity=0.5, n_best=3, length_penalty=NoLengthPenalty, stop_rule="top"
    )
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == [(3,), (4,), (5,)]


def test_eos_is_not_penalized() -> None:
    toy, state = fixed([0, 0, -0.5, -1, -2, -3])
    search = DiverseBeamSearch(size=2, groups=2, diversity=9.0, stop_rule="top")
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == [()]
    assert len(toy.row_counts) == 1  # both groups ended at once


def test_groups_take_turns() -> None:
    toy, state = fixed([0, 0, -99, -1, -1.1, -3, -3.1], [0, 0, -0.1, -99, -99, -99, -99])
    diverse = DiverseBeamSearch(
        size=4, groups=2, diversity=9.0, n_best=2, length_penalty=NoLengthPenalty, stop_rule="limit"
    )
    (found,) = diverse(toy, state, torch.tensor([3]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == [
        (3,),
        (5,),
    ]  # although (4,), in the first group, is better than (5,)
    wide = BeamSearch(size=4, n_best=2, length_penalty=NoLengthPenalty, stop_rule="limit")
    assert [hypothesis.tokens for hypothesis in wide(toy, state, torch.tensor([3]), LINES[:1])[0]] == [(3,), (4,)]


def test_outputs_are_sorted_and_more_diverse_than_beam_search() -> None:
    toy, limit = Toy(9, vocabulary=12, end=-1.0), torch.full((6,), 4)
    rows = DiverseBeamSearch(size=6, groups=3, diversity=1.0, n_best=6, stop_rule="limit")(
        toy, toy.start(6), limit, LINES
    )
    plain = BeamSearch(size=6, n_best=6, stop_rule="limit")(toy, toy.start(6), limit, LINES)
    for row in rows:
        ranks = [normalized_score(hypothesis, AverageLengthPenalty()) for hypothesis in row]
        assert ranks == sorted(ranks, reverse=True)
    first_tokens = [sum(len({hypothesis.tokens[:1] for hypothesis in row}) for row in found) for found in (rows, plain)]
    assert first_tokens[0] > first_tokens[1]


def test_single_output_is_the_best_of_all_groups() -> None:
    toy, limit = Toy(9, vocabulary=12, end=-1.0), torch.full((6,), 4)
    single, double = (DiverseBeamSearch(size=2, groups=2, diversity=1.0, n_best=best) for best in (1, 2))
    (found, both) = (search(toy, toy.start(6), limit, LINES) for search in (single, double))
    assert found == [row[:1] for row in both]
    first = BeamSearch(size=1)(toy, toy.start(6), limit, LINES)
    assert found != first  # a group with the penalty may find a better output


def test_groups_must_divide_the_beam() -> None:
    with pytest.raises(UserError, match="the beam size 5 cannot be divided into 2 equal groups"):
        DiverseBeamSearch(size=5, groups=2)
    with pytest.raises(UserError, match="best is 7 but the beam size is 6"):
        DiverseBeamSearch(n_best=7)
