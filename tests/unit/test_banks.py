"""Places in the beam for hypotheses that say what is required."""

import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, fixed
from weft.core.codec import EOS
from weft.core.state import BankTransitions, State, StepOutput
from weft.decoding.beam import BeamSearch, bank_candidates, best_candidates

NEVER = float("-inf")


class Wanting:
    """A step around a toy's which requires some tokens, in this order: a constraint of one phrase with gaps."""

    def __init__(self, toy: Toy, *required: int):
        self.toy = toy
        self.required = torch.tensor([*required, 0])  # PAD after the last

    def start(self, sentences: int) -> State:
        memory, carry = self.toy.start(sentences)
        return State(memory, (carry, torch.zeros(sentences, dtype=torch.long)))

    def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        carry, bank = state.carry
        assert isinstance(bank, Tensor)
        bank = bank + (tokens == self.required[bank]) * (self.required[bank] > 0)
        scores, after = self.toy(tokens, State(state.memory, carry))
        whole = torch.full_like(bank, len(self.required) - 1)
        ends = torch.where(bank < whole, NEVER, scores.log_probs[:, EOS])
        log_probs = scores.log_probs.index_copy(1, torch.tensor([EOS]), ends[:, None])
        bank_transitions = BankTransitions(self.required[bank][:, None], bank[:, None] + 1, bank, whole)
        return StepOutput(log_probs, scores.attention, bank_transitions), State(state.memory, (after.carry, bank))


def test_with_nothing_required_nothing_changes() -> None:
    for seed in range(3):
        toy = Toy(seed, end=-0.5)
        free = Wanting(toy)
        for beam in (BeamSearch(size=3, n_best=2), BeamSearch(size=4, n_best=4, stop_rule="limit"), BeamSearch(size=1)):
            assert beam(free, free.start(6), LIMIT, LINES) == beam(toy, toy.start(6), LIMIT, LINES)


def test_an_improbable_token_is_said_although_the_best_leave_it_out() -> None:
    rows = [-50, -50, -9, -0.1, -2.5, -8], [-50, -50, -0.1, -3, -4, -8]
    toy, state = fixed(*rows)
    (found,) = BeamSearch(size=2)(toy, state, torch.tensor([4]), LINES[:1])
    assert found[0].tokens == (3,)
    wanting = Wanting(toy, 5)
    steered = State(state.memory, (state.carry, torch.zeros(1, dtype=torch.long)))
    for size in (2, 5):
        (found,) = BeamSearch(size=size)(wanting, steered, torch.tensor([4]), LINES[:1])
        assert found[0].tokens == (3, 5)
        assert found[0].score == -0.1 + -8 + -0.1


def test_all_that_is_required_is_said_in_any_toy() -> None:
    """Four tokens in order, as far as the limit leaves room: no bank starves, even with fewer places than banks."""
    required, limit = (5, 3, 5, 4), torch.full((6,), 12)
    for seed in range(2):
        for size in (1, 3, 8):
            wanting = Wanting(Toy(seed, vocabulary=30, end=1.0), *required)
            for row in BeamSearch(size=size)(wanting, wanting.start(6), limit, LINES):
                rest = iter(row[0].tokens)
                assert all(token in rest for token in required)


def order(scores: list[list[float]], log_probs: Tensor, bank_transitions: BankTransitions) -> list[tuple[int, int]]:
    """The candidates of one beam, as rows and tokens."""
    found = bank_candidates(torch.tensor(scores), log_probs, bank_transitions)
    possible = int((found.scores > NEVER).sum())
    return list(zip(found.rows[0].tolist(), found.tokens[0].tolist(), strict=True))[:possible]


def test_banks_take_turns_and_the_highest_is_first() -> None:
    log_probs = torch.tensor([[NEVER, NEVER, NEVER, -1.0, -1.1, -9.0], [NEVER, NEVER, NEVER, -1.0, -1.2, -9.0]])
    bank_transitions = BankTransitions(
        torch.tensor([[5], [5]]), torch.tensor([[1], [2]]), torch.tensor([0, 1]), torch.tensor([2, 2])
    )
    found = order([[0.0, -5.0]], log_probs, bank_transitions)
    assert found == [(1, 5), (0, 3), (1, 3), (0, 4)]  # banks 2, 0, 1 and, what is left, the best of 0
    assert len(set(found)) == len(found)


def test_a_wanted_token_that_is_probable_comes_once_and_counts_for_its_bank() -> None:
    log_probs = torch.tensor([[NEVER, NEVER, -4.0, -1.0, -1.1, -2.0]])
    bank_transitions = BankTransitions(
        torch.tensor([[3, 3, 0]]), torch.tensor([[1, 1, 9]]), torch.tensor([0]), torch.tensor([1])
    )
    assert order([[0.0]], log_probs, bank_transitions) == [(0, 3), (0, 4)]


def test_what_a_bank_cannot_fill_goes_to_others() -> None:
    log_probs = torch.tensor([[NEVER, NEVER, NEVER, -1.0, -2.0, -3.0, -4.0]] * 2)
    nothing = torch.zeros(2, 1, dtype=torch.long)
    bank_transitions = BankTransitions(
        torch.tensor([[6], [0]]), torch.tensor([[1], [0]]), nothing[:, 0], torch.tensor([1, 1])
    )
    assert order([[0.0, -0.5]], log_probs, bank_transitions) == [(0, 6), (0, 3), (1, 3), (0, 4)]


def test_one_bank_is_the_order_of_the_scores() -> None:
    draws = torch.Generator().manual_seed(3)
    scores = torch.randn(4, 3, generator=draws)
    log_probs = torch.randn(12, 9, generator=draws).round()  # with many equals
    nothing = torch.zeros(12, 2, dtype=torch.long)
    bank_transitions = BankTransitions(nothing, nothing, nothing[:, 0], nothing[:, 0])
    log_probs[:, 0] = NEVER
    for one, other in zip(
        bank_candidates(scores, log_probs, bank_transitions), best_candidates(scores, log_probs), strict=True
    ):
        assert torch.equal(one, other)
