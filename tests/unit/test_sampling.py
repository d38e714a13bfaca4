"""Sampling draws as probabilities say, and the same draws again; a prefix is what outputs go on from."""

from collections import Counter

import pytest
import torch

from unit.test_search import LIMIT, Toy, fixed
from weft.core.marks import BEGIN, END, PAD
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State
from weft.search.beam import Beam
from weft.search.exhaustive import Exhaustive
from weft.search.forced import forced_scores
from weft.search.greedy import Greedy
from weft.search.prefix import after_prefix
from weft.search.role import Search
from weft.search.sampling import Sampling

PROBABILITIES = torch.tensor([0.1, 0.1, 0.3, 0.4, 0.1], dtype=torch.float64)  # of PAD, BEGIN, END and two pieces


def first_tokens(temperature: float, count: int) -> list[float]:
    """The shares of END and the two pieces among so many draws of a first token."""
    toy, state = fixed(PROBABILITIES.log().tolist(), [-9, -9, 0, -9, -9])
    rows = torch.zeros(count, dtype=torch.long)
    found = Sampling(temperature=temperature)(toy, state.select(rows, rows), torch.ones_like(rows))
    drawn = Counter((*one.tokens, END)[0] for (one,) in found)
    assert sum(drawn.values()) == count
    return [drawn[token] / count for token in (END, 3, 4)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_they_are_probable(temperature: float) -> None:
    wanted = PROBABILITIES[END:] ** (1 / temperature)
    assert first_tokens(temperature, 3000) == pytest.approx((wanted / wanted.sum()).tolist(), abs=0.04)


def test_a_low_temperature_is_greedy() -> None:
    toy = Toy(3)
    assert Sampling(temperature=1e-6)(toy, toy.start(6), LIMIT) == Greedy()(toy, toy.start(6), LIMIT)


def tokens(found: list[list[Hypothesis]]) -> list[tuple[int, ...]]:
    return [one.tokens for row in found for one in row]


def test_equal_seeds_draw_the_same_and_others_do_not() -> None:
    toy, limit = Toy(8, end=-2.0), torch.full((6,), 5)
    drawn = [tokens(Sampling(seed=seed)(toy, toy.start(6), limit)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_sentences_beside_one_another_have_draws_of_their_own() -> None:
    toy, limit = Toy(8, end=-2.0), torch.full((6,), 5)
    rows = torch.zeros(6, dtype=torch.long)
    same = toy.start(1).select(rows, rows)
    alike = State((same.memory[0], torch.arange(6)), (same.carry[0], torch.arange(6)))
    drawn = tokens(Sampling()(toy, alike, limit))
    assert len(set(drawn)) > 3
    fewer = toy.start(2)
    assert tokens(Sampling()(toy, fewer, limit[:2])) == tokens(Sampling()(toy, toy.start(6), limit))[:2]


def test_scores_are_the_models_own() -> None:
    toy = Toy(7, end=-1.0)
    for sentence, (one,) in enumerate(Sampling(temperature=3.0)(toy, toy.start(6), LIMIT)):
        row = torch.tensor([sentence])
        (forced,) = forced_scores(toy, toy.start(6).select(row, row), Padded.of([[*one.tokens, END]]))
        assert one.score == pytest.approx(forced.score, abs=1e-12)
        assert len(one.tokens) <= LIMIT[sentence]
        assert not {PAD, BEGIN} & set(one.tokens)


def test_the_impossible_is_never_drawn() -> None:
    never = float("-inf")
    toy, state = fixed([0, 0, never, never, -50], [0, 0, -1, never, never])
    assert tokens(Sampling()(toy, state, torch.tensor([3]))) == [(4,)]
    toy, state = fixed([0, 0, never, never, never])
    assert Sampling()(toy, state, torch.tensor([3])) == [[]]


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, best=2), Exhaustive(best=2), Sampling()])
@pytest.mark.parametrize("prefix", [[], [3], [4, 3, 5]])
def test_what_follows_a_prefix_has_the_scores_it_has_after_it(search: Search, prefix: list[int]) -> None:
    toy = Toy(2, end=-1.0)
    step, state = after_prefix(toy, toy.start(1), torch.tensor(prefix, dtype=torch.long))
    (found,) = search(step, state, torch.tensor([3]))
    assert found
    for one in found:
        (whole,) = forced_scores(toy, toy.start(1), Padded.of([[*prefix, *one.tokens, END]]))
        assert one.token_scores == pytest.approx(whole.token_scores[len(prefix) :], abs=1e-12)
