"""Diverse beam search: one group is beam search; groups avoid what others just said; outputs come from all of them."""

import pytest
import torch

from unit.test_search import LIMIT, LINES, Toy, fixed, normalised
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch, StopRule
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.length_penalty import AverageLengthPenalty, NoLengthPenalty


@pytest.mark.parametrize("stop", ["finished", "limit", "first", "top"])
@pytest.mark.parametrize("seed", range(2))
def test_one_group_is_beam_search(stop: StopRule, seed: int) -> None:
    toy = Toy(seed, end=-0.5)
    diverse = DiverseBeamSearch(size=3, groups=1, diversity=2.0, n_best=2, stop_rule=stop)
    assert diverse(toy, toy.start(6), LIMIT, LINES) == BeamSearch(size=3, n_best=2, stop_rule=stop)(
        toy, toy.start(6), LIMIT, LINES
    )


@pytest.mark.parametrize(("diversity", "wanted"), [(0.0, [(3,)]), (0.5, [(3,)]), (1.5, [(3,), (4,)])])
def test_a_group_takes_another_token_where_the_penalty_outweighs_it(diversity: float, wanted: list[object]) -> None:
    toy, state = fixed([0, 0, -9, -1, -2, -9], [0, 0, -0.1, -9, -9, -9])
    search = DiverseBeamSearch(
        size=2, groups=2, diversity=diversity, n_best=2, length_penalty=NoLengthPenalty, stop_rule="top"
    )
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [one.tokens for one in found] == wanted  # and never one output twice
    assert [one.score for one in found] == pytest.approx([-1.1, -2.1][: len(found)])  # without the penalty


def test_a_third_group_avoids_both_others() -> None:
    toy, state = fixed([0, 0, -9, -1, -1.2, -1.4], [0, 0, -0.1, -9, -9, -9])
    search = DiverseBeamSearch(
        size=3, groups=3, diversity=0.5, n_best=3, length_penalty=NoLengthPenalty, stop_rule="top"
    )
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [one.tokens for one in found] == [(3,), (4,), (5,)]


def test_ending_is_not_avoided() -> None:
    toy, state = fixed([0, 0, -0.5, -1, -2, -3])
    search = DiverseBeamSearch(size=2, groups=2, diversity=9.0, stop_rule="top")
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [one.tokens for one in found] == [()]
    assert len(toy.rows_seen) == 1  # both groups ended at once


def test_groups_take_turns() -> None:
    toy, state = fixed([0, 0, -99, -1, -1.1, -3, -3.1], [0, 0, -0.1, -99, -99, -99, -99])
    two = DiverseBeamSearch(
        size=4, groups=2, diversity=9.0, n_best=2, length_penalty=NoLengthPenalty, stop_rule="limit"
    )
    (found,) = two(toy, state, torch.tensor([3]), LINES[:1])
    assert [one.tokens for one in found] == [(3,), (5,)]  # although (4,), in the first group, is better than (5,)
    wide = BeamSearch(size=4, n_best=2, length_penalty=NoLengthPenalty, stop_rule="limit")
    assert [one.tokens for one in wide(toy, state, torch.tensor([3]), LINES[:1])[0]] == [(3,), (4,)]


def test_the_best_come_first_and_there_are_more_different_ones() -> None:
    toy, limit = Toy(9, vocabulary=12, end=-1.0), torch.full((6,), 4)
    rows = DiverseBeamSearch(size=6, groups=3, diversity=1.0, n_best=6, stop_rule="limit")(
        toy, toy.start(6), limit, LINES
    )
    plain = BeamSearch(size=6, n_best=6, stop_rule="limit")(toy, toy.start(6), limit, LINES)
    for row in rows:
        ranks = [normalised(one, AverageLengthPenalty()) for one in row]
        assert ranks == sorted(ranks, reverse=True)
    begun = [sum(len({one.tokens[:1] for one in row}) for row in found) for found in (rows, plain)]
    assert begun[0] > begun[1]


def test_one_output_is_the_best_that_the_groups_found() -> None:
    toy, limit = Toy(9, vocabulary=12, end=-1.0), torch.full((6,), 4)
    one, two = (DiverseBeamSearch(size=2, groups=2, diversity=1.0, n_best=best) for best in (1, 2))
    (found, both) = (search(toy, toy.start(6), limit, LINES) for search in (one, two))
    assert found == [row[:1] for row in both]
    first = BeamSearch(size=1)(toy, toy.start(6), limit, LINES)
    assert found != first  # a group that avoids the others may well find more


def test_groups_must_divide_the_beam() -> None:
    with pytest.raises(UserError, match="the beam size 5 cannot be divided into 2 equal groups"):
        DiverseBeamSearch(size=5, groups=2)
    with pytest.raises(UserError, match="best is 7 but the beam size is 6"):
        DiverseBeamSearch(n_best=7)
