"""Banks of the beam for hypotheses with required tokens."""

import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, fixed
from weft.core.special_tokens import EOS
from weft.core.state import BankTransitions, State, StepOutput
from weft.decoding.beam import BeamSearch, bank_candidates, best_candidates

NEG_INF = float("-inf")


class RequiredTokens:
    """Wrap a toy's step so that it requires tokens in this order, with gaps allowed."""

    def __init__(self, toy: Toy, *required: int):
        self.toy = toy
        self.required = torch.tensor([*required, 0])  # PAD after the last required token

    def start(self, sentences: int) -> State:
        memory, carry = self.toy.start(sentences)
        return State(memory, (carry, torch.zeros(sentences, dtype=torch.long)))

    def __call__(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        carry, bank = state.carry
        assert isinstance(bank, Tensor)
        bank = bank + (tokens == self.required[bank]) * (self.required[bank] > 0)
        scores, after = self.toy(tokens, State(state.memory, carry))
        complete = torch.full_like(bank, len(self.required) - 1)
        end_scores = torch.where(bank < complete, NEG_INF, scores.log_probs[:, EOS])
        log_probs = scores.log_probs.index_copy(1, torch.tensor([EOS]), end_scores[:, None])
        bank_transitions = BankTransitions(self.required[bank][:, None], bank[:, None] + 1, bank)
        return StepOutput(log_probs, scores.attention, bank_transitions), State(state.memory, (after.carry, bank))


def test_without_required_tokens_results_are_unchanged() -> None:
    for seed in range(3):
        toy = Toy(seed, end=-0.5)
        free = RequiredTokens(toy)
        for beam in (BeamSearch(size=3, n_best=2), BeamSearch(size=4, n_best=4, stop_rule="limit"), BeamSearch(size=1)):
            assert beam(free, free.start(6), LIMIT, LINES) == beam(toy, toy.start(6), LIMIT, LINES)


def test_improbable_required_token_is_generated() -> None:
    rows = [-50, -50, -9, -0.1, -2.5, -8], [-50, -50, -0.1, -3, -4, -8]
    toy, state = fixed(*rows)
    (found,) = BeamSearch(size=2)(toy, state, torch.tensor([4]), LINES[:1])
    assert found[0].tokens == (3,)
    step = RequiredTokens(toy, 5)
    constrained_state = State(state.memory, (state.carry, torch.zeros(1, dtype=torch.long)))
    for size in (2, 5):
        (found,) = BeamSearch(size=size)(step, constrained_state, torch.tensor([4]), LINES[:1])
        assert found[0].tokens == (3, 5)
        assert found[0].score == -0.1 + -8 + -0.1


def test_all_required_tokens_are_generated() -> None:
    """Four tokens in order: no bank starves, even with fewer beam places than banks."""
    required, limit = (5, 3, 5, 4), torch.full((6,), 12)
    for seed in range(2):
        for size in (1, 3, 8):
            step = RequiredTokens(Toy(seed, vocabulary=30, end=1.0), *required)
            for row in BeamSearch(size=size)(step, step.start(6), limit, LINES):
                rest = iter(row[0].tokens)
                assert all(token in rest for token in required)


def candidate_order(
    scores: list[list[float]], log_probs: Tensor, bank_transitions: BankTransitions
) -> list[tuple[int, int]]:
    """Return the candidates of a single beam as (row, token) pairs."""
    found = bank_candidates(torch.tensor(scores), log_probs, bank_transitions)
    possible = int((found.scores > NEG_INF).sum())
    return list(zip(found.rows[0].tolist(), found.tokens[0].tolist(), strict=True))[:possible]


def test_banks_take_turns_starting_with_the_highest() -> None:
    log_probs = torch.tensor(
        [[NEG_INF, NEG_INF, NEG_INF, -1.0, -1.1, -9.0], [NEG_INF, NEG_INF, NEG_INF, -1.0, -1.2, -9.0]]
    )
    bank_transitions = BankTransitions(torch.tensor([[5], [5]]), torch.tensor([[1], [2]]), torch.tensor([0, 1]))
    found = candidate_order([[0.0, -5.0]], log_probs, bank_transitions)
    assert found == [(1, 5), (0, 3), (1, 3), (0, 4)]  # banks 2, 0, 1, then the best remaining, of bank 0
    assert len(set(found)) == len(found)


def test_probable_required_token_is_a_candidate_of_its_bank_once() -> None:
    log_probs = torch.tensor([[NEG_INF, NEG_INF, -4.0, -1.0, -1.1, -2.0]])
    bank_transitions = BankTransitions(torch.tensor([[3, 3, 0]]), torch.tensor([[1, 1, 9]]), torch.tensor([0]))
    assert candidate_order([[0.0]], log_probs, bank_transitions) == [(0, 3), (0, 4)]


def test_unused_places_of_a_bank_go_to_other_banks() -> None:
    log_probs = torch.tensor([[NEG_INF, NEG_INF, NEG_INF, -1.0, -2.0, -3.0, -4.0]] * 2)
    zeros = torch.zeros(2, 1, dtype=torch.long)
    bank_transitions = BankTransitions(torch.tensor([[6], [0]]), torch.tensor([[1], [0]]), zeros[:, 0])
    assert candidate_order([[0.0, -0.5]], log_probs, bank_transitions) == [(0, 6), (0, 3), (1, 3), (0, 4)]


def test_single_bank_orders_candidates_by_score() -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(4, 3, generator=generator)
    log_probs = torch.randn(12, 9, generator=generator).round()  # with many ties
    zeros = torch.zeros(12, 2, dtype=torch.long)
    bank_transitions = BankTransitions(zeros, zeros, zeros[:, 0])
    log_probs[:, 0] = NEG_INF
    for actual, expected in zip(
        bank_candidates(scores, log_probs, bank_transitions), best_candidates(scores, log_probs), strict=True
    ):
        assert torch.equal(actual, expected)
