"""Law 4: objectives other than cross-entropy equal the equations of their papers, with all gradients."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from laws.numpy_reference import Array, array, softmax
from laws.objective_context import OBJECTIVE_CONTEXT, decode
from laws.variants import MODELS, VOCABULARY, batch
from weft.core.padded import Padded
from weft.core.special_tokens import EOS, NUM_SPECIAL_TOKENS
from weft.data.batches import Batch
from weft.losses.coverage_loss import CoverageLoss
from weft.losses.distillation_loss import DistillationLoss
from weft.losses.minimum_risk import MinimumRiskLoss
from weft.losses.objective import Objective
from weft.losses.word_loss import WordLoss
from weft.models.model import Model

PAIRS = batch((5, 6), (3, 4))
SPACE, A, SEE, ZED = (VOCABULARY.index(token) for token in ("▁", "a", "see", "zed"))
WORDS = Padded.from_rows(
    [[A, SPACE, SEE, ZED, EOS], [ZED, ZED, SPACE, SPACE, A, A, A, EOS]]
)  # "a seezed", "zedzed  aaa"


@pytest.fixture(params=["decoder-luong", "decoder-transformer"])
def model(request: pytest.FixtureRequest) -> Model:
    result: Model = MODELS[request.param]()
    return result


def assert_equal_gradients(model: Model, ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected)
    weights = list(model.parameters())
    our_gradients = torch.autograd.grad(ours, weights, allow_unused=True)
    expected_gradients = torch.autograd.grad(expected, weights, allow_unused=True)
    assert any(gradient is not None and gradient.any() for gradient in expected_gradients)
    for left, right in zip(our_gradients, expected_gradients, strict=True):
        assert_close(left, right)


def probabilities(model: Model, pairs: Batch) -> Array:
    """Return p(v) at every position [B,T,V]."""
    return softmax(array(model.head(model.features(pairs).hidden)))


# --- Minimum risk --------------------------------------------------------------------------------------------------


def log_prob(model: Model, source: list[int], output: tuple[int, ...]) -> Tensor:
    """Return log p of one output."""
    pair = Batch(Padded.from_rows([source]), Padded.from_rows([[*output, EOS]]), (0,))
    log_probs = model.head(model.features(pair).hidden).log_softmax(-1)
    return torch.stack([log_probs[0, position, token] for position, token in enumerate([*output, EOS])]).sum()


def distance(text: str, other: str) -> int:
    """Return the edit distance by its recursive definition."""
    if not text or not other:
        return len(text) + len(other)
    return min(
        distance(text[1:], other) + 1,
        distance(text, other[1:]) + 1,
        distance(text[1:], other[1:]) + (text[0] != other[0]),
    )


def expected_risk(model: Model, pairs: Batch, outputs: list[tuple[int, ...]], alpha: float) -> Tensor:
    """sum_s sum_y p(y)^alpha cost(y) / sum_y p(y)^alpha, with the character error rate as the cost."""
    risk = torch.zeros((), dtype=torch.float64)
    for source, target in zip(rows(pairs.source), rows(pairs.target), strict=True):
        (reference,) = decode([target])
        weights = torch.stack([(alpha * log_prob(model, source, output)).exp() for output in outputs])
        costs = [distance(line, reference) / len(reference) for line in decode(outputs)]
        risk = risk + (weights * torch.tensor(costs, dtype=torch.float64)).sum() / weights.sum()
    return risk


def rows(ids: Padded) -> list[list[int]]:
    return [row[:length] for row, length in zip(ids.data.tolist(), ids.lengths().tolist(), strict=True)]


def every_output(vocabulary: Sequence[int], longest: int) -> list[tuple[int, ...]]:
    """Return all outputs of at most `longest` of these tokens."""
    return [output for length in range(longest + 1) for output in product(vocabulary, repeat=length)]


@pytest.mark.parametrize("alpha", [0.005, 1.0])
def test_risk_equals_paper_equation(model: Model, alpha: float) -> None:
    pairs = batch((3, 3), (2, 2))
    outputs = every_output([A, SEE, ZED], 2)
    objective = MinimumRiskLoss(OBJECTIVE_CONTEXT, cost="cer", alpha=alpha, chunk_size=7)
    ours = objective.risk(model, model.encode(pairs.source), pairs, [outputs, outputs])
    assert_equal_gradients(model, ours, expected_risk(model, pairs, outputs, alpha))


def test_risk_with_many_samples_equals_enumerated_risk(model: Model) -> None:
    torch.manual_seed(1)
    pairs = batch((3, 3), (2, 2))
    objective = MinimumRiskLoss(
        OBJECTIVE_CONTEXT,
        cost="cer",
        samples=500,
        alpha=0.5,
        include_reference=False,
        max_length_factor=0.01,
        max_length_extra=1,
    )
    outputs = every_output(range(NUM_SPECIAL_TOKENS, len(VOCABULARY)), 1)
    assert [sorted(candidates) for candidates in objective.candidates(model, pairs)] == [outputs, outputs]
    loss = objective(model, pairs, 1)
    assert_equal_gradients(model, loss.total, expected_risk(model, pairs, outputs, 0.5))
    assert loss.count.item() == 5


# --- Word loss ----------------------------------------------------------------------------------------------------


def word_positions() -> list[list[list[int]]]:
    """Return the token positions of each word in WORDS, by row; white space and EOS belong to the word before."""
    return [[[0, 1], [2, 3, 4]], [[0, 1, 2, 3], [4, 5, 6, 7]]]


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_word_loss_equals_equation(model: Model, q: float) -> None:
    pairs = PAIRS._replace(target=WORDS)
    p = probabilities(model, pairs)
    expected = 0.0
    for row, words in enumerate(word_positions()):
        for positions in words:
            word = np.prod([p[row, position, WORDS.data[row, position]] for position in positions])
            expected += (1 - word**q) / q if q else -np.log(word)
    loss = WordLoss(OBJECTIVE_CONTEXT, q=q, cross_entropy_weight=0.0, chunk_size=3)(model, pairs, 1)
    assert loss.total.item() == pytest.approx(expected)
    assert loss.parts["words"].item() == pytest.approx(expected)


def test_word_loss_with_q_1_is_probability_of_other_words(model: Model) -> None:
    """Sum the probabilities of all outputs in the place of the word that are not the word."""
    source, word = [3, 4, EOS], (A, EOS)
    outputs = list(product(range(len(VOCABULARY)), repeat=2))
    all_pairs = Batch(Padded.from_rows([source] * len(outputs)), Padded.from_rows(outputs), ())
    pairs = zip(outputs, probabilities(model, all_pairs), strict=True)
    wrong = sum(p[0, output[0]] * p[1, output[1]] for output, p in pairs if output != word)
    loss = WordLoss(OBJECTIVE_CONTEXT, q=1.0, cross_entropy_weight=0.0)(
        model, Batch(Padded.from_rows([source]), Padded.from_rows([word]), (0,)), 1
    )
    assert loss.total.item() == pytest.approx(wrong)


def test_word_loss_with_q_0_equals_cross_entropy(model: Model) -> None:
    pairs = PAIRS._replace(target=WORDS)
    words, plain = (
        WordLoss(OBJECTIVE_CONTEXT, q=0.0, cross_entropy_weight=weight)(model, pairs, 1).total for weight in (0.0, 1.0)
    )
    assert_equal_gradients(model, words, plain)


# --- Coverage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["overlap", "total"])
def test_coverage_loss_equals_paper_equations(model: Model, penalty: str) -> None:
    attention = model.features(PAIRS).attention
    assert attention is not None
    weights, expected = array(attention), 0.0
    for row, (target_length, source_length) in enumerate(
        zip(PAIRS.target.lengths(), PAIRS.source.lengths(), strict=True)
    ):
        a = weights[row, : int(target_length), : int(source_length)]
        overlap = sum(np.minimum(a[t], a[:t].sum(0)).sum() for t in range(len(a)))
        expected += overlap if penalty == "overlap" else ((1 - a.sum(0)) ** 2).sum()
    loss = CoverageLoss(OBJECTIVE_CONTEXT, weight=3.0, penalty=penalty, label_smoothing=0.0)(model, PAIRS, 1)  # type: ignore[arg-type]
    assert loss.parts["coverage"].item() == pytest.approx(expected)
    assert loss.total.item() == pytest.approx(loss.parts["nll"].item() + 3 * expected)


# --- Distillation --------------------------------------------------------------------------------------------------


def distillation_loss(teacher: Model) -> DistillationLoss:
    return DistillationLoss(replace(OBJECTIVE_CONTEXT, load_model=lambda _: teacher), teacher="somewhere")


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("chunk_size", [1, 4, 512])
def test_distillation_loss_equals_paper_equation(model: Model, temperature: float, chunk_size: int) -> None:
    teacher = MODELS["decoder-bahdanau"]().requires_grad_(False)
    context = replace(OBJECTIVE_CONTEXT, load_model=lambda _: teacher)
    objective = DistillationLoss(
        context, teacher="somewhere", weight=0.25, temperature=temperature, chunk_size=chunk_size
    )
    mask = PAIRS.target.mask
    logits = model.head(model.features(PAIRS).hidden)[mask]
    teacher_logits = teacher.head(teacher.features(PAIRS).hidden)[mask]
    plain = -logits.log_softmax(-1).gather(1, PAIRS.target.data[mask][:, None]).sum()
    soft = -((teacher_logits / temperature).softmax(-1) * (logits / temperature).log_softmax(-1)).sum()
    loss = objective(model, PAIRS, 1)
    assert_equal_gradients(model, loss.total, 0.75 * plain + 0.25 * temperature**2 * soft)


# --- All objectives -----------------------------------------------------------------------------------------------


class Case(NamedTuple):
    name: str
    objective: Objective


CASES = [
    Case("word-loss", WordLoss(OBJECTIVE_CONTEXT)),
    Case("coverage-overlap", CoverageLoss(OBJECTIVE_CONTEXT)),
    Case("coverage-total", CoverageLoss(OBJECTIVE_CONTEXT, penalty="total")),
    Case("distillation", distillation_loss(MODELS["decoder-bahdanau"]().requires_grad_(False))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_loss_of_batch_is_sum_over_sentences(model: Model, case: Case) -> None:
    """So padding and other rows change nothing."""
    batched = case.objective(model, PAIRS, 1)
    single = [case.objective(model, single_row(PAIRS, row), 1) for row in range(2)]
    assert_equal_gradients(model, batched.total, single[0].total + single[1].total)
    assert batched.count == single[0].count + single[1].count
    for name, part in batched.parts.items():
        assert_close(part, single[0].parts[name] + single[1].parts[name])


def test_risk_of_batch_is_sum_over_sentences(model: Model) -> None:
    objective = MinimumRiskLoss(OBJECTIVE_CONTEXT)
    outputs = [[(3,), (4, 5, 6, 7)], [(5, 5), (), (6,)]]
    batched = objective.risk(model, model.encode(PAIRS.source), PAIRS, outputs)
    pairs = [single_row(PAIRS, row) for row in range(2)]
    single = [
        objective.risk(model, model.encode(pair.source), pair, [candidates])
        for pair, candidates in zip(pairs, outputs, strict=True)
    ]
    assert_equal_gradients(model, batched, single[0] + single[1])


def single_row(pairs: Batch, row: int) -> Batch:
    source, target = rows(pairs.source)[row], rows(pairs.target)[row]
    return Batch(Padded.from_rows([source]), Padded.from_rows([target]), (row,))
