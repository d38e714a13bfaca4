"""Decoding constraints on a toy step function: every output satisfies them, and unused ones change nothing."""

from collections.abc import Sequence
from random import Random

import pytest
import torch
from torch import Tensor

from unit.test_search import Toy
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.phrase_matching import TokenPhrase, exclude_phrases
from weft.decoding.constraints.prefix import bias_prefix, force_prefix
from weft.decoding.constraints.required_phrases import (
    Requirement,
    require_phrases,
    requirement_outcomes,
    requirement_predecessors,
    shortest_length,
)
from weft.decoding.constraints.step_constraints import (
    block_repeated_ngrams,
    enforce_min_length,
    min_lengths,
    restrict_vocabulary,
    vocabulary_masks,
)
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import Search

VOCABULARY = 12
JOINS = torch.zeros(VOCABULARY, dtype=torch.bool).index_fill(0, torch.tensor([9, 10, 11]), True)
FREE = range(NUM_SPECIAL_TOKENS, 9)  # tokens that start a word
SEARCHES: list[Search] = [GreedySearch(), BeamSearch(size=4, n_best=3)]


def run(search: Search, step: StepFunction, state: State, limit: Tensor) -> list[list[Hypothesis]]:
    return search(step, state, limit, torch.arange(len(limit)))


def random_phrase(draws: Random, max_length: int = 3) -> TokenPhrase:
    rest = [draws.randrange(NUM_SPECIAL_TOKENS, VOCABULARY) for _ in range(draws.randrange(max_length))]
    return TokenPhrase((draws.choice(FREE), *rest), draws.random() < 0.5)


def occurrences(phrase: TokenPhrase, tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Return the [first, end) spans of a phrase, by comparing at every position."""
    output, size = [BOS, *tokens], len(phrase.tokens)
    found = [
        (first, first + size) for first in range(len(output)) if tuple(output[first : first + size]) == phrase.tokens
    ]
    return [(first, end) for first, end in found if not (phrase.bounded and end < len(output) and JOINS[output[end]])]


def is_met(requirements: Sequence[Requirement], ordered: int, tokens: Sequence[int]) -> list[bool]:
    met, reached, ends_of = [], 0, dict[frozenset[TokenPhrase], int]()
    for number, requirement in enumerate(requirements):
        phrases = frozenset(requirement)
        least = reached if number < ordered else ends_of.get(phrases, 0)
        ends = [last for phrase in requirement for first, last in occurrences(phrase, tokens) if first >= least]
        met.append(bool(ends))
        ends_of[phrases] = min(ends, default=99)
        reached = ends_of[phrases] if number < ordered else reached
    return met


class Case:
    """Random requirements and exclusions for a batch; some leave hardly any spare length."""

    def __init__(self, seed: int, sentences: int):
        draws = Random(seed)
        self.rows: list[list[Requirement]] = [
            [[random_phrase(draws) for _ in range(draws.randint(1, 2))] for _ in range(draws.randint(0, 3))]
            for _ in range(sentences)
        ]
        for row in self.rows:
            if row and draws.random() < 0.3:
                row[0] = [*row[0], TokenPhrase((BOS, *row[0][0].tokens), row[0][0].bounded)]
            if row and draws.random() < 0.3:
                row.append(row[0])
        self.ordered = [draws.choice([0, 1, len(row)]) for row in self.rows]
        self.limit = torch.tensor([sum(map(shortest_length, row)) + draws.randrange(5) for row in self.rows])
        self.excluded = [[random_phrase(draws, 2) for _ in range(draws.randint(1, 3))] for _ in range(sentences)]


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))])
def test_every_requirement_is_met(seed: int) -> None:
    case, toy = Case(seed, 100), Toy(seed, VOCABULARY, end=1.0)
    step, state = require_phrases(toy, toy.start(100), case.rows, JOINS, case.limit, case.ordered)
    results = run(BeamSearch(size=4, n_best=2), step, state, case.limit)
    for row, ordered, limit, found in zip(case.rows, case.ordered, case.limit.tolist(), results, strict=True):
        assert found
        for hypothesis in found:
            assert all(is_met(row, ordered, hypothesis.tokens)), (row, hypothesis.tokens)
            assert len(hypothesis.tokens) <= limit
            outcomes = requirement_outcomes(hypothesis.tokens, row, JOINS, limit, ordered)
            assert all(met for met, _ in outcomes)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("search", SEARCHES)
def test_excluded_phrases_never_occur(seed: int, search: Search) -> None:
    case, toy = Case(seed, 50), Toy(seed, VOCABULARY, end=-1.0)
    limit = case.limit + 3
    step, state = exclude_phrases(toy, toy.start(50), case.excluded, JOINS, limit)
    for row, found in zip(case.excluded, run(search, step, state, limit), strict=True):
        assert found
        assert not any(occurrences(phrase, hypothesis.tokens) for phrase in row for hypothesis in found)


def test_excluded_bounded_phrase_may_begin_a_longer_word() -> None:
    toy = Toy(1, VOCABULARY, end=-1.0)
    limit, excluded = torch.tensor([2]), [[TokenPhrase((3,), bounded=True)]]
    step, state = exclude_phrases(toy, toy.start(1), excluded, JOINS, limit)
    found = run(BeamSearch(size=100, n_best=100), step, state, limit)[0]
    assert {(3, 9), (3, 10), (3, 11)} == {hypothesis.tokens for hypothesis in found if hypothesis.tokens[:1] == (3,)}


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(size=3, n_best=3)])
def test_scores_of_constrained_outputs_equal_the_forced_scores(search: Search) -> None:
    toy, limit = Toy(5, VOCABULARY), torch.tensor([5, 6, 7])
    step, state = force_prefix(toy, toy.start(3), Padded.from_rows([[4, 5], [], [6]]))
    step, state = exclude_phrases(step, state, [[TokenPhrase((7,))], [], [TokenPhrase((3, 4))]], JOINS, limit)
    for sentence, found in enumerate(run(search, step, state, limit)):
        row = torch.tensor([sentence])
        start = toy.start(3).select(row, row.repeat(len(found)))
        forced = forced_scores(toy, start, Padded.from_rows([[*hypothesis.tokens, EOS] for hypothesis in found]))
        assert [hypothesis.score for hypothesis in found] == pytest.approx([score.score for score in forced])


def test_outputs_begin_with_their_prefixes() -> None:
    toy, limit = Toy(2, VOCABULARY, end=1.0), torch.tensor([4, 4, 3, 6])
    prefixes = [[5, 5, 3], [], [11, 4, 8], [3]]
    step, state = force_prefix(toy, toy.start(4), Padded.from_rows(prefixes))
    for search in SEARCHES:
        for prefix, found in zip(prefixes, run(search, step, state, limit), strict=True):
            assert found
            assert all(list(hypothesis.tokens[: len(prefix)]) == prefix for hypothesis in found)


def test_prefix_bias_applies_while_the_output_follows_the_prefix() -> None:
    toy = Toy(3, VOCABULARY)
    step, state = bias_prefix(toy, toy.start(2), Padded.from_rows([[4, 5], [6]]), torch.tensor([0.25, 0.0]))
    plain_state = toy.start(2)
    for fed, mixed in (((BOS, BOS), 4), ((4, 6), 5), ((5, 3), None)):
        plain, plain_state = toy(torch.tensor(fed), plain_state)
        scores, state = step(torch.tensor(fed), state)
        expected = plain.log_probs.exp()
        if mixed is not None:
            expected[0] *= 0.75
            expected[0, mixed] += 0.25
        torch.testing.assert_close(scores.log_probs.exp(), expected)
    step, state = bias_prefix(toy, toy.start(1), Padded.from_rows([[4, 5]]), torch.tensor([0.25]))
    plain_state = toy.start(1)
    for token in (BOS, 7):  # departs from the prefix
        plain, plain_state = toy(torch.tensor([token]), plain_state)
        scores, state = step(torch.tensor([token]), state)
    assert torch.equal(scores.log_probs, plain.log_probs)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_occurs_twice(size: int) -> None:
    toy, limit = Toy(4, 7, end=-3.0), torch.tensor([12, 9])
    step, state = block_repeated_ngrams(toy, toy.start(2), size, torch.zeros(2, dtype=torch.long))
    for search in SEARCHES:
        for hypothesis in [hypothesis for found in run(search, step, state, limit) for hypothesis in found]:
            tokens = hypothesis.tokens
            ngrams = [tokens[first : first + size] for first in range(len(tokens) - size + 1)]
            assert len(ngrams) == len(set(ngrams))
    unblocked = run(GreedySearch(), toy, toy.start(2), limit)
    assert any(len(set(hypothesis.tokens)) < len(hypothesis.tokens) for found in unblocked for hypothesis in found)


def test_prefixes_and_required_phrases_may_repeat_ngrams() -> None:
    toy, limit = Toy(4, 7, end=-3.0), torch.tensor([6])
    step, state = require_phrases(
        toy, toy.start(1), [[[TokenPhrase((3, 3, 4))]]], torch.zeros(7, dtype=torch.bool), limit
    )
    step, state = block_repeated_ngrams(step, state, 1, torch.tensor([2]))
    step, state = force_prefix(step, state, Padded.from_rows([[5, 5]]))
    found = run(BeamSearch(size=3), step, state, limit)[0][0].tokens
    assert found[:2] == (5, 5)
    assert occurrences(TokenPhrase((3, 3, 4)), found)


def test_only_allowed_tokens_occur() -> None:
    toy, limit = Toy(6, VOCABULARY, end=-2.0), torch.tensor([8, 8])
    step, state = restrict_vocabulary(toy, toy.start(2), vocabulary_masks([[4, 9], None], VOCABULARY))
    for search in SEARCHES:
        first, second = run(search, step, state, limit)
        assert {token for hypothesis in first for token in hypothesis.tokens} <= {4, 9}
        assert {token for hypothesis in second for token in hypothesis.tokens} - {4, 9}


def test_outputs_have_at_least_the_minimum_length() -> None:
    toy, limit = Toy(6, VOCABULARY, end=4.0), torch.tensor([8, 2, 5])
    least = min_lengths(torch.tensor([6, 6, 0]), 0.5, 1, limit)
    assert least.tolist() == [4, 2, 1]
    step, state = enforce_min_length(toy, toy.start(3), least)
    for search in SEARCHES:
        for minimum, found in zip(least.tolist(), run(search, step, state, limit), strict=True):
            assert min(len(hypothesis.tokens) for hypothesis in found) >= minimum
    assert min(len(found[0].tokens) for found in run(GreedySearch(), toy, toy.start(3), limit)) == 0


def test_unused_constraint_changes_nothing() -> None:
    toy, limit = Toy(7, VOCABULARY), torch.tensor([4, 5])
    nothing = torch.zeros(2, dtype=torch.long)
    for step, state in (
        force_prefix(toy, toy.start(2), Padded.from_rows([[], []])),
        bias_prefix(toy, toy.start(2), Padded.from_rows([[3], []]), torch.zeros(2)),
        exclude_phrases(toy, toy.start(2), [[], []], JOINS, limit),
        require_phrases(toy, toy.start(2), [[], []], JOINS, limit),
        block_repeated_ngrams(toy, toy.start(2), 0, nothing),
        restrict_vocabulary(toy, toy.start(2), vocabulary_masks([None, None], VOCABULARY)),
        enforce_min_length(toy, toy.start(2), nothing),
    ):
        assert step is toy
        assert run(BeamSearch(), step, state, limit) == run(BeamSearch(), toy, toy.start(2), limit)


def test_unconstrained_sentence_is_independent_of_its_batch() -> None:
    """Its scores stay bit-identical, whatever the constraints of the other sentences."""
    toy, limit = Toy(8, VOCABULARY), torch.tensor([7, 6, 5])
    step, state = require_phrases(toy, toy.start(3), [[[TokenPhrase((3, 9))]], [], []], JOINS, limit)
    step, state = exclude_phrases(step, state, [[TokenPhrase((4,))], [], []], JOINS, limit)
    step, state = block_repeated_ngrams(step, state, 2, torch.tensor([0, 99, 99]))
    step, state = enforce_min_length(step, state, torch.tensor([2, 0, 0]))
    step, state = bias_prefix(step, state, Padded.from_rows([[5], [], []]), torch.tensor([0.5, 0.0, 0.0]))
    step, state = force_prefix(step, state, Padded.from_rows([[5], [], []]))
    search = BeamSearch(size=3, n_best=3)
    constrained, plain = run(search, step, state, limit), run(search, toy, toy.start(3), limit)
    assert constrained[1:] == plain[1:]
    assert constrained[0] != plain[0]


def test_constrained_batch_equals_single_sentences() -> None:
    case, toy, search = Case(3, 8), Toy(3, VOCABULARY), BeamSearch(size=3, n_best=2)
    limit = case.limit + 4

    def constrained(sentences: list[int]) -> list[list[Hypothesis]]:
        rows = torch.tensor(sentences)
        state = toy.start(8).select(rows, rows)
        step, state = exclude_phrases(toy, state, [case.excluded[row] for row in sentences], JOINS, limit[rows])
        requirements = [case.rows[row] for row in sentences]
        step, state = require_phrases(
            step, state, requirements, JOINS, limit[rows], [case.ordered[row] for row in sentences]
        )
        step, state = block_repeated_ngrams(step, state, 2, torch.zeros_like(rows))
        return search(step, state, limit[rows], rows)

    assert constrained(list(range(8))) == [found for row in range(8) for found in constrained([row])]


def test_interrupted_phrase_may_restart_at_once() -> None:
    row = [[TokenPhrase((3, 3, 4))]]
    assert [met for met, _ in requirement_outcomes([3, 3, 3, 4], row, JOINS, 9)] == [True]
    assert [met for met, _ in requirement_outcomes([3, 3, 5, 4], row, JOINS, 9)] == [False]


@pytest.mark.parametrize(
    ("tokens", "ordered", "met"),
    [
        ([3, 4], 0, [True, False]),
        ([3, 4, 3], 0, [True, False]),
        ([3, 4, 3, 4], 0, [True, True]),
        ([3, 4, 9, 3, 4], 0, [True, False]),  # the first occurrence is part of a longer word
        ([3, 4, 5, 3, 4], 1, [True, True]),
    ],
)
def test_equal_requirements_need_separate_occurrences(tokens: list[int], ordered: int, met: list[bool]) -> None:
    row = [[TokenPhrase((3, 4), bounded=True)]] * 2
    assert [is_met for is_met, _ in requirement_outcomes(tokens, row, JOINS, 9, ordered)] == met


def test_different_requirements_may_share_tokens() -> None:
    row = [[TokenPhrase((3, 4))], [TokenPhrase((4, 5))], [TokenPhrase((4,)), TokenPhrase((8,))]]
    assert [met for met, _ in requirement_outcomes([3, 4, 5], row, JOINS, 9)] == [True, True, True]
    assert requirement_predecessors(["a", "b", "a", "a", "b"], 0) == [0, 0, 1, 3, 2]
    assert requirement_predecessors(["a", "b", "a", "a", "b"], 3) == [0, 1, 2, 3, 2]


def test_bounded_phrase_does_not_match_a_longer_word() -> None:
    row = [[TokenPhrase((3,), bounded=True)]]
    assert [requirement_outcomes(tokens, row, JOINS, 9)[0][0] for tokens in ([3], [3, 9], [3, 9, 3, 4])] == [
        True,
        False,
        True,
    ]


def test_forced_requirements_are_reported() -> None:
    rows = [[TokenPhrase((3, 4))], [TokenPhrase((5,))]]
    assert [forced for _, forced in requirement_outcomes([3, 4, 6, 5], rows, JOINS, 4)] == [False, True]
    assert [forced for _, forced in requirement_outcomes([3, 4, 6, 5], rows, JOINS, 9)] == [False, False]


def test_banks_count_completed_tokens() -> None:
    toy, limit = Toy(9, VOCABULARY), torch.tensor([9])
    step, state = require_phrases(
        toy, toy.start(1), [[[TokenPhrase((3, 4, 5))], [TokenPhrase((6, 7)), TokenPhrase((8,))]]], JOINS, limit
    )
    steps = []
    for token in (BOS, 3, 4, 6, 3, 4, 5, 8):
        scores, state = step(torch.tensor([token]), state)
        assert scores.bank_transitions is not None
        bank_of = dict(
            zip(scores.bank_transitions.tokens[0].tolist(), scores.bank_transitions.banks[0].tolist(), strict=True)
        )
        steps.append((int(scores.bank_transitions.other_bank), bank_of.get(4), bank_of.get(8)))
        assert bool(scores.log_probs[0, EOS].isneginf()) == (token != 8)
    after_three_four, after_all = steps[2], steps[-1]
    assert after_three_four == (0, None, 1)
    assert after_all[0] == 4


def test_requirements_need_a_beam() -> None:
    toy, limit = Toy(9, VOCABULARY), torch.tensor([9])
    step, state = require_phrases(toy, toy.start(1), [[[TokenPhrase((3,))]]], JOINS, limit)
    with pytest.raises(UserError, match="beam"):
        run(GreedySearch(), step, state, limit)
