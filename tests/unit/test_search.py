"""Search algorithms, compared with brute force on a toy model with one distribution per prefix."""

from collections.abc import Sequence
from functools import partial
from itertools import chain, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.setting_types import Factory
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.core.state import Hypothesis, State, StepOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import (
    AverageLengthPenalty,
    GNMTLengthPenalty,
    LengthPenalty,
    NoLengthPenalty,
    WordReward,
)
from weft.decoding.search import Search, stable_topk

ROWS, SOURCE = 997, 3
PENALTIES = [
    NoLengthPenalty,
    AverageLengthPenalty,
    GNMTLengthPenalty,
    partial(AverageLengthPenalty, alpha=0.5),
    WordReward,
]
LIMIT = torch.tensor([3, 0, 4, 1, 2, 4])
LINES = torch.arange(6)


class Toy:
    """Next-token scores that depend on the whole prefix and on the sentence; asserts that rows stay aligned."""

    def __init__(self, seed: int, vocabulary: int = 6, end: float = 0.0):
        generator = torch.Generator().manual_seed(seed)
        logits = torch.randn(ROWS, vocabulary, generator=generator, dtype=torch.float64)
        logits[:, EOS] += end
        self.log_probs = logits.log_softmax(1)
        self.attention = torch.rand(ROWS, SOURCE, generator=generator, dtype=torch.float64)
        self.sentence_counts: list[int] = []
        self.row_counts: list[int] = []

    def start(self, sentences: int) -> State:
        numbers = torch.arange(sentences)
        return State(memory=(numbers * 7919 + 13, numbers), carry=(torch.zeros(sentences, dtype=torch.long), numbers))

    def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        (seeds, numbers), (prefixes, owners) = state.memory, state.carry
        assert isinstance(seeds, Tensor)
        assert isinstance(numbers, Tensor)
        assert isinstance(prefixes, Tensor)
        assert isinstance(owners, Tensor)
        self.sentence_counts.append(len(seeds))
        self.row_counts.append(len(tokens))
        width = len(tokens) // max(len(seeds), 1)
        assert torch.equal(owners, numbers.repeat_interleave(width))
        prefixes = (prefixes * 1_000_003 + tokens + 1) % 2**31
        rows = (prefixes + seeds.repeat_interleave(width)) % ROWS
        return StepOutput(self.log_probs[rows], self.attention[rows]), State(state.memory, (prefixes, owners))


def fixed(*rows: Sequence[float]) -> tuple["Toy", State]:
    """Return a toy for one sentence whose scores depend only on the prefix length; the last row repeats."""
    table = torch.tensor(rows, dtype=torch.float64)

    class Fixed(Toy):
        def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
            self.row_counts.append(len(tokens))
            (lengths,) = state.carry
            assert isinstance(lengths, Tensor)
            return StepOutput(table[lengths.clamp(max=len(table) - 1)], None), State(state.memory, (lengths + 1,))

    return Fixed(0), State(memory=torch.zeros(1, 2), carry=(torch.zeros(1, dtype=torch.long),))


def brute_force(toy: Toy, sentences: int, limit: Tensor, penalty: LengthPenalty) -> list[list[Hypothesis]]:
    """Return every possible output, best first."""
    pieces = range(NUM_SPECIAL_TOKENS, toy.log_probs.shape[1])
    results = []
    for sentence in range(sentences):
        outputs = [
            [*tokens, EOS] for length in range(int(limit[sentence]) + 1) for tokens in product(pieces, repeat=length)
        ]
        row = torch.tensor([sentence])
        state = toy.start(sentences).select(row, row.repeat(len(outputs)))
        everything = forced_scores(toy, state, Padded.from_rows(outputs))
        results.append(sorted(everything, key=lambda found: -normalized_score(found, penalty)))
    return results


def normalized_score(hypothesis: Hypothesis, penalty: LengthPenalty) -> float:
    score = torch.tensor(hypothesis.score, dtype=torch.float64)
    return float(penalty(score, torch.full_like(score, len(hypothesis.token_scores))))


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[hypothesis.tokens for hypothesis in row] for row in found] == [
        [hypothesis.tokens for hypothesis in row] for row in expected
    ]
    for hypothesis, other in zip(chain(*found), chain(*expected), strict=True):
        assert hypothesis.score == pytest.approx(other.score, abs=1e-12)
        assert hypothesis.token_scores == pytest.approx(other.token_scores, abs=1e-12)
        assert hypothesis.attention == other.attention


SEARCHES: list[Search] = [
    GreedySearch(),
    BeamSearch(size=1),
    BeamSearch(size=3, n_best=2),
    BeamSearch(size=4, n_best=4, stop_rule="limit"),
    BeamSearch(size=3, n_best=3, keep_greedy=True),
    BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="limit"),
    BeamSearch(size=3, n_best=2, length_penalty=WordReward, stop_rule="limit"),
    BeamSearch(size=3, n_best=2, stop_rule="top"),
    DiverseBeamSearch(size=4, groups=2, n_best=3, stop_rule="limit"),
    ExhaustiveSearch(n_best=3),
]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", PENALTIES)
def test_beam_of_size_one_equals_greedy(seed: int, penalty: Factory[LengthPenalty]) -> None:
    toy = Toy(seed)
    beam = BeamSearch(size=1, length_penalty=penalty)(toy, toy.start(6), LIMIT, LINES)
    greedy = GreedySearch()(toy, toy.start(6), LIMIT, LINES)
    assert beam == greedy
    assert all(len(row) == 1 for row in greedy)


def test_greedy_takes_the_most_probable_token_each_time() -> None:
    toy = Toy(3, end=-1.0)
    for sentence, (found,) in enumerate(GreedySearch()(toy, toy.start(6), LIMIT, LINES)):
        row = torch.tensor([sentence])
        state = toy.start(6).select(row, row)
        last = torch.tensor([BOS])
        for token in [*found.tokens, EOS]:
            scores, state = toy(last, state)
            best = int(scores.log_probs[0, EOS:].argmax()) + EOS
            assert token == best or (token == EOS and len(found.tokens) == LIMIT[sentence])
            last = torch.tensor([token])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", PENALTIES)
def test_wide_beam_and_exhaustive_search_match_brute_force(seed: int, penalty: Factory[LengthPenalty]) -> None:
    toy = Toy(seed, end=-0.5)
    expected = [row[:3] for row in brute_force(toy, 6, LIMIT, penalty())]
    beam = BeamSearch(size=100, n_best=3, length_penalty=penalty, stop_rule="limit")(toy, toy.start(6), LIMIT, LINES)
    exhaustive = ExhaustiveSearch(n_best=3, length_penalty=penalty)(toy, toy.start(6), LIMIT, LINES)
    assert_same(beam, expected)
    assert_same(exhaustive, expected)


def test_keep_greedy_is_never_worse_than_greedy() -> None:
    toy, sentences = Toy(5, end=-3.0), 60
    limit, lines = torch.full((sentences,), 8), torch.arange(sentences)

    def found(search: Search) -> list[float]:
        return [best.score for [best] in search(toy, toy.start(sentences), limit, lines)]

    greedy = found(GreedySearch())
    beam, with_greedy = (
        found(BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="limit", keep_greedy=keep))
        for keep in (False, True)
    )
    assert any(score < least - 1e-9 for score, least in zip(beam, greedy, strict=True))
    assert all(score >= least - 1e-9 for score, least in zip(with_greedy, greedy, strict=True))
    assert any(score > least + 1e-9 for score, least in zip(with_greedy, greedy, strict=True))


def test_length_normalization_changes_the_winner() -> None:
    toy = Toy(0, end=-0.5)
    plain = ExhaustiveSearch(length_penalty=NoLengthPenalty)(toy, toy.start(6), LIMIT, LINES)
    assert plain != ExhaustiveSearch(length_penalty=AverageLengthPenalty)(toy, toy.start(6), LIMIT, LINES)


def test_exhaustive_search_expands_the_most_probable_prefix_first() -> None:
    toy, state = fixed([0, 0, -9, -5, -0.1], [0, 0, -0.1, -9, -9])
    (found,) = ExhaustiveSearch(length_penalty=NoLengthPenalty)(toy, state, torch.tensor([9]), LINES[:1])
    assert found[0].tokens == (4,)
    assert len(toy.row_counts) == 2


def test_exhaustive_search_prunes() -> None:
    toy = Toy(1, end=2.0)
    limit = torch.tensor([5])
    ExhaustiveSearch(length_penalty=NoLengthPenalty)(toy, toy.start(1), limit, LINES[:1])
    prefixes = sum(3**length for length in range(6))
    assert len(toy.row_counts) < prefixes / 4


@pytest.mark.parametrize("search", SEARCHES)
def test_returned_scores_equal_forced_scores(search: Search) -> None:
    toy = Toy(7, end=-1.0)
    for sentence, hypotheses in enumerate(search(toy, toy.start(6), LIMIT, LINES)):
        assert hypotheses
        row = torch.tensor([sentence])
        state = toy.start(6).select(row, row.repeat(len(hypotheses)))
        forced = forced_scores(toy, state, Padded.from_rows([[*hypothesis.tokens, EOS] for hypothesis in hypotheses]))
        assert_same([hypotheses], [forced])


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_results_do_not_depend_on_the_batch(search: Search, end: float) -> None:
    toy = Toy(11, end=end)
    together = search(toy, toy.start(6), LIMIT, LINES)
    alone = []
    for sentence in range(6):
        row = torch.tensor([sentence])
        alone += search(toy, toy.start(6).select(row, row), LIMIT[row], LINES[row])
    assert together == alone


@pytest.mark.parametrize("search", SEARCHES)
def test_results_keep_the_order_of_the_batch(search: Search) -> None:
    toy = Toy(12)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    forwards = search(toy, toy.start(6), LIMIT, LINES)
    shuffled = search(toy, toy.start(6).select(order, order), LIMIT[order], LINES[order])
    assert shuffled == [forwards[sentence] for sentence in order.tolist()]


@pytest.mark.parametrize("search", SEARCHES)
def test_outputs_respect_length_limits_and_are_distinct(search: Search) -> None:
    toy = Toy(5, end=-3.0)
    found = search(toy, toy.start(6), LIMIT, LINES)
    for hypotheses, limit in zip(found, LIMIT.tolist(), strict=True):
        assert all(len(hypothesis.tokens) <= limit for hypothesis in hypotheses)
        assert all(
            min(hypothesis.tokens, default=NUM_SPECIAL_TOKENS) >= NUM_SPECIAL_TOKENS for hypothesis in hypotheses
        )
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_hypotheses_are_sorted_by_normalized_score(penalty: Factory[LengthPenalty]) -> None:
    toy = Toy(9)
    for hypotheses in BeamSearch(size=4, n_best=4, length_penalty=penalty)(toy, toy.start(6), LIMIT, LINES):
        scores = [normalized_score(hypothesis, penalty()) for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("width", [1, 4])
def test_beam_drops_finished_sentences_and_does_not_repeat_memory(width: int) -> None:
    toy = Toy(2, end=-1.0)
    BeamSearch(size=width)(toy, toy.start(6), LIMIT, LINES)
    assert toy.sentence_counts[0] == 6
    assert toy.sentence_counts == sorted(toy.sentence_counts, reverse=True)
    assert toy.sentence_counts[1] <= 5  # the sentence with limit 0 is finished
    assert toy.row_counts == [width * sentences for sentences in toy.sentence_counts]


def test_greedy_drops_finished_sentences() -> None:
    toy = Toy(2, end=-1.0)
    GreedySearch()(toy, toy.start(6), LIMIT, LINES)
    assert toy.sentence_counts[0] == 6
    assert toy.sentence_counts[1] <= 5
    assert toy.row_counts == toy.sentence_counts


def test_stopping_rules() -> None:
    toy = Toy(8)
    limit = torch.full((6,), 12)
    early = BeamSearch(size=3, length_penalty=AverageLengthPenalty)(toy, toy.start(6), limit, LINES)
    steps = len(toy.row_counts)
    late = BeamSearch(size=3, length_penalty=AverageLengthPenalty, stop_rule="limit")(toy, toy.start(6), limit, LINES)
    assert steps < len(toy.row_counts) - steps
    better = [
        normalized_score(late_best, AverageLengthPenalty()) - normalized_score(early_best, AverageLengthPenalty())
        for (late_best,), (early_best,) in zip(late, early, strict=True)
    ]
    assert min(better) >= 0
    assert max(better) > 0


def test_first_and_top_stop_at_a_finished_hypothesis() -> None:
    rows = [0, 0, -3, -1, -2], [0, 0, -1.5, -1, -9], [0, 0, -0.1, -9, -9]
    results = {}
    for stop in ("first", "top", "finished"):
        toy, state = fixed(*rows)
        (found,) = BeamSearch(size=3, length_penalty=NoLengthPenalty, stop_rule=stop)(
            toy, state, torch.tensor([9]), LINES[:1]
        )
        results[stop] = (found[0].tokens, len(toy.row_counts))
    assert results["first"] == ((), 1)  # -3 is in the top three
    assert results["top"] == ((3, 3), 3)  # -2.1 beats the unfinished hypotheses
    assert results["finished"] == ((3, 3), 3)
    toy, state = fixed(*rows)
    (found,) = BeamSearch(size=3, n_best=2, length_penalty=NoLengthPenalty, stop_rule="first")(
        toy, state, torch.tensor([9]), LINES[:1]
    )
    assert [hypothesis.tokens for hypothesis in found] == [(3,), ()]  # stops once two are finished


def test_limit_rule_stops_when_nothing_can_win() -> None:
    toy, state = fixed([0, 0, -0.1, -3, -4])
    (found,) = BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="limit")(
        toy, state, torch.tensor([50]), LINES[:1]
    )
    assert found[0].tokens == ()
    assert len(toy.row_counts) == 1


def test_limit_rule_continues_while_the_longest_output_can_win() -> None:
    toy, state = fixed([0, 0, -1, -1.5, -9], [0, 0, -0.1, -9, -9])
    (found,) = BeamSearch(size=2, length_penalty=AverageLengthPenalty, stop_rule="limit")(
        toy, state, torch.tensor([1]), LINES[:1]
    )
    assert found[0].tokens == (3,)  # -1.6 / 2 is better than -1 / 1, although -1.5 / 1 is not


@pytest.mark.parametrize("search", SEARCHES)
def test_limit_of_zero_allows_only_eos(search: Search) -> None:
    toy = Toy(4)
    for (found,) in search(toy, toy.start(2), torch.tensor([0, 0]), LINES[:2]):
        assert found.tokens == ()
        assert len(found.token_scores) == len(found.attention) == 1
        assert found.score == found.token_scores[0]


@pytest.mark.parametrize("search", SEARCHES)
def test_hypothesis_with_forced_eos_is_not_finished(search: Search) -> None:
    limit = torch.tensor([2])
    toy, state = fixed([0, 0, -9, -1, -20], [0, 0, -9, -1, -20], [0, 0, -2, -1, -20])
    found = search(toy, state, limit, LINES[:1])[0][0]
    assert (found.tokens, found.token_scores, found.finished) == ((3, 3), (-1, -1, -2), False)
    toy, state = fixed([0, 0, -9, -1, -20], [0, 0, -9, -1, -20], [0, 0, -1, -1, -20])
    found = search(toy, state, limit, LINES[:1])[0][0]
    assert (found.tokens, found.token_scores, found.finished) == ((3, 3), (-1, -1, -1), True)


@pytest.mark.parametrize("vocabulary", [3, 4])
def test_beam_wider_than_the_number_of_candidates(vocabulary: int) -> None:
    toy = Toy(6, vocabulary)
    beam = BeamSearch(size=7, n_best=7, stop_rule="limit")(toy, toy.start(6), LIMIT, LINES)
    assert_same(beam, brute_force(toy, 6, LIMIT, AverageLengthPenalty()))


@pytest.mark.parametrize(
    "search", [GreedySearch(), BeamSearch(size=1), BeamSearch(size=2), BeamSearch(size=2, stop_rule="limit")]
)
def test_lowest_id_wins_ties(search: Search) -> None:
    toy, state = fixed([-1, -1, -5] + [-1] * 300, [-1, -1, -0.5] + [-1] * 300)
    assert search(toy, state, torch.tensor([4]), LINES[:1])[0][0].tokens == (NUM_SPECIAL_TOKENS,)


def test_ties_across_hypotheses_keep_their_order() -> None:
    toy, state = fixed([0, 0, -9, -1, -1, -1], [0, 0, -9, -1, -1, -1], [0, 0, -1, -9, -9, -9])
    (found,) = BeamSearch(size=4, n_best=4)(toy, state, torch.tensor([5]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == [(3, 3), (3, 4), (3, 5), (4, 3)]


@pytest.mark.parametrize("search", SEARCHES)
def test_impossible_outputs_are_not_returned(search: Search) -> None:
    never = float("-inf")
    toy, state = fixed([0, 0, never, -1, -2])
    assert search(toy, state, torch.tensor([3]), LINES[:1]) == [[]]
    toy, state = fixed([0, 0, -1, never, never], [never] * 5)
    (found,) = search(toy, state, torch.tensor([3]), LINES[:1])
    assert [hypothesis.tokens for hypothesis in found] == [()]
    toy, state = fixed([0, 0, never, never, never])
    assert search(toy, state, torch.tensor([3]), LINES[:1]) == [[]]


@pytest.mark.parametrize("search", SEARCHES)
def test_step_without_attention(search: Search) -> None:
    toy, state = fixed([0, 0, -2, -1, -3], [0, 0, -1, -2, -3])
    assert all(hypothesis.attention == () for hypothesis in search(toy, state, torch.tensor([2]), LINES[:1])[0])


@pytest.mark.parametrize("search", SEARCHES)
def test_empty_batch(search: Search) -> None:
    toy = Toy(0)
    assert search(toy, toy.start(0), LINES[:0], LINES[:0]) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precisions(dtype: torch.dtype) -> None:
    toy = Toy(10, end=-1.0)
    toy.log_probs = toy.log_probs.to(dtype)
    beam = BeamSearch(size=100, stop_rule="limit")(toy, toy.start(6), LIMIT, LINES)
    assert_same(beam, ExhaustiveSearch()(toy, toy.start(6), LIMIT, LINES))


def test_word_reward_is_counted_up_to_the_limit() -> None:
    toy, state = fixed([0, 0, -1, -1.5, -9], [0, 0, -0.1, -9, -9])
    rewarded = partial(WordReward, gamma=0.7)
    for search in (
        BeamSearch(size=2, length_penalty=rewarded, stop_rule="limit"),
        ExhaustiveSearch(length_penalty=rewarded),
    ):
        (found,) = search(toy, state, torch.tensor([1]), LINES[:1])
        assert found[0].tokens == (3,)  # -1.6 + 1.4 is better than -1 + 0.7, although -1.5 + 0.7 is not


def test_n_best_larger_than_the_beam_is_reported() -> None:
    with pytest.raises(UserError, match="best is 6 but the beam size is 5"):
        BeamSearch(n_best=6)


def test_forced_scores_are_the_model_scores() -> None:
    toy, state = fixed([0, 0, -3, -1, -2], [0, 0, -4, -5, -6], [0, 0, -7, -8, -9])
    state = state.select(torch.tensor([0]), torch.tensor([0, 0, 0]))
    ended, empty, cut = forced_scores(toy, state, Padded.from_rows([[4, 3, EOS], [EOS], [3, 4]]))
    assert ended == Hypothesis((4, 3), -14, (-2, -5, -7), finished=True)
    assert empty == Hypothesis((), -3, (-3,), finished=True)
    assert cut == Hypothesis((3, 4), -7, (-1, -6), finished=False)


def test_length_penalties() -> None:
    scores, lengths = torch.tensor([-2.0, -8.0, -9.0]), torch.tensor([1.0, 4.0, 7.0])
    assert NoLengthPenalty()(scores, lengths).tolist() == [-2, -8, -9]
    assert AverageLengthPenalty()(scores, lengths).tolist() == pytest.approx([-2, -2, -9 / 7])
    assert AverageLengthPenalty(alpha=0.5)(scores, lengths).tolist() == pytest.approx([-2, -4, -9 / 7**0.5])
    assert GNMTLengthPenalty(alpha=2)(scores, lengths).tolist() == pytest.approx([-2, -8 / 2.25, -9 / 4])
    assert WordReward(gamma=0.25)(scores, lengths).tolist() == pytest.approx([-1.75, -7, -7.25])


@given(st.lists(st.lists(st.sampled_from([-1.0, -2.0, -3.0, float("-inf")]), min_size=9, max_size=9), min_size=1))
def test_stable_topk_matches_a_stable_sort(rows: list[list[float]]) -> None:
    values, columns = stable_topk(torch.tensor(rows), 4)
    for row, best, indices in zip(rows, values.tolist(), columns.tolist(), strict=True):
        order = sorted(range(9), key=lambda column: -row[column])
        possible = sum(value > float("-inf") for value in row[:9])
        assert indices[:possible] == order[: min(4, possible)]
        assert best == [row[index] for index in order[:4]]


def test_special_tokens_are_never_produced() -> None:
    toy = Toy(13)
    toy.log_probs[:, [PAD, BOS]] = 0.0
    for search in SEARCHES:
        found = search(toy, toy.start(6), LIMIT, LINES)
        assert not {PAD, BOS, EOS} & {token for row in found for hypothesis in row for token in hypothesis.tokens}
