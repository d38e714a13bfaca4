"""Sampling: distribution, seeds, filters; continuation of a prefix."""

from collections import Counter
from functools import partial

import pytest
import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, fixed
from weft.config.schema import unwrap_factory
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.setting_types import Factory
from weft.core.special_tokens import BOS, EOS, PAD
from weft.core.state import BankTransitions, Hypothesis, State, StepOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.prefix import continue_prefix
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.decoding.sampling import SAMPLES_PER_PASS, Sampling, keep_min_p, keep_top_k, keep_top_p
from weft.decoding.search import Search
from weft.inference.loader import with_beam

PROBABILITIES = torch.tensor([0.1, 0.1, 0.3, 0.4, 0.1], dtype=torch.float64)  # PAD, BOS, EOS and two tokens


def frequencies(sampling: Sampling, count: int) -> list[float]:
    """Return the relative frequencies of EOS and the two tokens in `count` draws of the first token."""
    toy, state = fixed(PROBABILITIES.log().tolist(), [-9, -9, 0, -9, -9])
    rows = torch.zeros(count, dtype=torch.long)
    found = sampling(toy, state.select(rows, rows), torch.ones_like(rows), torch.arange(count))
    drawn = Counter((*hypothesis.tokens, EOS)[0] for (hypothesis,) in found)
    assert sum(drawn.values()) == count
    return [drawn[token] / count for token in (EOS, 3, 4)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_with_their_probabilities(temperature: float) -> None:
    expected = PROBABILITIES[EOS:] ** (1 / temperature)
    assert frequencies(Sampling(temperature=temperature), 3000) == pytest.approx(
        (expected / expected.sum()).tolist(), abs=0.04
    )


def test_low_temperature_equals_greedy() -> None:
    toy = Toy(3)
    assert Sampling(temperature=1e-6)(toy, toy.start(6), LIMIT, LINES) == GreedySearch()(
        toy, toy.start(6), LIMIT, LINES
    )


def tokens(found: list[list[Hypothesis]]) -> list[tuple[int, ...]]:
    return [hypothesis.tokens for row in found for hypothesis in row]


def test_equal_seeds_give_equal_samples() -> None:
    toy, limit = Toy(8, end=-2.0), torch.full((6,), 5)
    drawn = [tokens(Sampling(seed=seed)(toy, toy.start(6), limit, LINES)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_sentences_of_a_batch_are_sampled_independently() -> None:
    toy, limit = Toy(8, end=-2.0), torch.full((6,), 5)
    rows = torch.zeros(6, dtype=torch.long)
    same = toy.start(1).select(rows, rows)
    identical = State((same.memory[0], torch.arange(6)), (same.carry[0], torch.arange(6)))
    drawn = tokens(Sampling()(toy, identical, limit, LINES))
    assert len(set(drawn)) > 3
    fewer = toy.start(2)
    everything = tokens(Sampling()(toy, toy.start(6), limit, LINES))
    assert tokens(Sampling()(toy, fewer, limit[:2], LINES[:2])) == everything[:2]


def test_samples_depend_on_the_line_and_not_on_the_batch() -> None:
    toy, limit, order = Toy(8, end=-2.0), torch.full((6,), 5), torch.tensor([4, 2, 0, 5, 1, 3])
    sampling = Sampling(n_best=3, top_p=0.9)
    everything = sampling(toy, toy.start(6), limit, LINES + 70)
    shuffled = sampling(toy, toy.start(6).select(order, order), limit, LINES[order] + 70)
    assert shuffled == [everything[sentence] for sentence in order.tolist()]
    assert everything != sampling(toy, toy.start(6), limit, LINES)


def test_larger_n_best_does_not_change_the_first_samples() -> None:
    toy, limit = Toy(8, end=-2.0), torch.full((6,), 5)
    five, two = (Sampling(n_best=best)(toy, toy.start(6), limit, LINES) for best in (5, 2))
    twenty = Sampling(n_best=20)(toy, toy.start(6), limit, LINES)
    assert [row[:5] for row in twenty] == five
    assert [len(row) for row in twenty] == [20] * 6
    assert max(toy.row_counts) == 6 * SAMPLES_PER_PASS
    assert [row[:2] for row in five] == two
    assert max(len({hypothesis.tokens for hypothesis in row}) for row in five) > 3
    certain, state = fixed([-99, -99, -99, 0, -99], [-99, -99, 0, -99, -99])
    assert tokens(Sampling(n_best=3)(certain, state, torch.tensor([3]), LINES[:1])) == [(3,)] * 3


def remaining(row: Tensor) -> list[int]:
    return row[0].isfinite().nonzero()[:, 0].tolist()


def test_top_k_top_p_and_min_p_filters() -> None:
    logits = torch.tensor([[0.05, 0.4, 0.3, 0.05, 0.2]]).log() + 7  # not normalized
    assert [remaining(keep_top_k(logits, count)) for count in (1, 3, 4, 9)] == [
        [1],
        [1, 2, 4],
        [0, 1, 2, 4],
        [0, 1, 2, 3, 4],
    ]
    assert [remaining(keep_top_p(logits, threshold)) for threshold in (0.01, 0.5, 0.75)] == [[1], [1, 2], [1, 2, 4]]
    assert remaining(keep_top_p(logits, 1.0)) == [0, 1, 2, 3, 4]
    assert [remaining(keep_min_p(logits, threshold)) for threshold in (0.01, 0.4, 0.6, 1.0)] == [
        [0, 1, 2, 3, 4],
        [1, 2, 4],
        [1, 2],
        [1],
    ]
    never = torch.full((1, 3), float("-inf"))
    assert (
        remaining(keep_top_k(never, 2)) == remaining(keep_top_p(never, 0.5)) == remaining(keep_min_p(never, 0.5)) == []
    )


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(top_k=2), [3 / 7, 4 / 7, 0]),
        (Sampling(top_p=0.6), [3 / 7, 4 / 7, 0]),
        (Sampling(min_p=0.5), [3 / 7, 4 / 7, 0]),
        (Sampling(temperature=0.1, min_p=0.5), [0, 1, 0]),  # temperature is applied first: 0.75^10 < 0.5
        (Sampling(top_k=1, top_p=0.9), [0, 1, 0]),
    ],
)
def test_filtered_tokens_are_never_drawn(sampling: Sampling, expected: list[float]) -> None:
    assert frequencies(sampling, 800) == pytest.approx(expected, abs=0.07)


def test_constraints_need_beam_search() -> None:
    toy, state = fixed([0, 0, -1, -1, -1])
    nothing = torch.zeros(1, 0, dtype=torch.long)

    def constrained_step(last: Tensor, state: State) -> tuple[StepOutput, State]:
        scores, state = toy(last, state)
        return scores._replace(bank_transitions=BankTransitions(nothing, nothing, LINES[:1])), state

    for search in (Sampling(), GreedySearch(), DiverseBeamSearch(size=2, groups=2)):
        with pytest.raises(UserError, match="lexical constraints need beam search"):
            search(constrained_step, state, torch.tensor([3]), LINES[:1])
    assert ExhaustiveSearch()(constrained_step, state, torch.tensor([3]), LINES[:1])


def test_scores_are_the_model_scores() -> None:
    toy = Toy(7, end=-1.0)
    for sentence, (hypothesis,) in enumerate(Sampling(temperature=3.0)(toy, toy.start(6), LIMIT, LINES)):
        row = torch.tensor([sentence])
        (forced,) = forced_scores(toy, toy.start(6).select(row, row), Padded.from_rows([[*hypothesis.tokens, EOS]]))
        assert hypothesis.score == pytest.approx(forced.score, abs=1e-12)
        assert len(hypothesis.tokens) <= LIMIT[sentence]
        assert not {PAD, BOS} & set(hypothesis.tokens)


def test_impossible_tokens_are_never_drawn() -> None:
    never = float("-inf")
    toy, state = fixed([0, 0, never, never, -50], [0, 0, -1, never, never])
    assert tokens(Sampling()(toy, state, torch.tensor([3]), LINES[:1])) == [(4,)]
    toy, state = fixed([0, 0, never, never, never])
    assert Sampling()(toy, state, torch.tensor([3]), LINES[:1]) == [[]]


@pytest.mark.parametrize(
    "search", [GreedySearch(), BeamSearch(size=3, n_best=2), ExhaustiveSearch(n_best=2), Sampling()]
)
@pytest.mark.parametrize("prefix", [[], [3], [4, 3, 5]])
def test_continuations_of_a_prefix_have_the_scores_of_the_full_output(search: Search, prefix: list[int]) -> None:
    toy = Toy(2, end=-1.0)
    step, state = continue_prefix(toy, toy.start(1), torch.tensor(prefix, dtype=torch.long))
    (found,) = search(step, state, torch.tensor([3]), LINES[:1])
    assert found
    for hypothesis in found:
        (whole,) = forced_scores(toy, toy.start(1), Padded.from_rows([[*prefix, *hypothesis.tokens, EOS]]))
        assert hypothesis.token_scores == pytest.approx(whole.token_scores[len(prefix) :], abs=1e-12)


def test_n_best_applies_to_sampling_and_turns_greedy_into_beam_search() -> None:
    def changed(search: Factory[Search], beam: int | None, n_best: int | None) -> tuple[object, dict[str, object]]:
        return unwrap_factory(with_beam(search, BeamSearch, beam, n_best))

    sampling = partial(Sampling, top_k=5)
    assert changed(sampling, None, 3) == (Sampling, {"top_k": 5, "n_best": 3})
    assert changed(sampling, 4, 3) == (BeamSearch, {"size": 4, "n_best": 3})
    assert changed(GreedySearch, None, 7) == (BeamSearch, {"size": 7, "n_best": 7})
    diverse = partial(DiverseBeamSearch, size=6, groups=3)
    assert changed(diverse, None, 3) == (DiverseBeamSearch, {"size": 6, "groups": 3, "n_best": 3})
    assert changed(partial(BeamSearch, n_best=4), 2, None) == (BeamSearch, {"size": 2, "n_best": 2})
