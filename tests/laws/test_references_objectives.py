"""Law 4: objectives beyond cross-entropy equal a plain writing of their papers, with every gradient."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from laws.given import GIVEN, decode
from laws.plainly import Array, array, softmax
from laws.variants import MODELS, VOCABULARY, batch
from weft.core.codec import EOS, NUM_SPECIAL_TOKENS
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.losses.coverage_loss import CoverageLoss
from weft.losses.distillation_loss import DistillationLoss
from weft.losses.minimum_risk import MinimumRiskLoss
from weft.losses.objective import Objective
from weft.losses.word_loss import WordLoss
from weft.models.model import Model

PAIRS = batch((5, 6), (3, 4))
SPACE, A, SEE, ZED = (VOCABULARY.index(piece) for piece in ("▁", "a", "see", "zed"))
WORDS = Padded.from_rows(
    [[A, SPACE, SEE, ZED, EOS], [ZED, ZED, SPACE, SPACE, A, A, A, EOS]]
)  # "a seezed", "zedzed  aaa"


@pytest.fixture(params=["decoder-luong", "decoder-transformer"])
def model(request: pytest.FixtureRequest) -> Model:
    made: Model = MODELS[request.param]()
    return made


def assert_equal_gradients(model: Model, ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected)
    weights = list(model.parameters())
    mine = torch.autograd.grad(ours, weights, allow_unused=True)
    others = torch.autograd.grad(expected, weights, allow_unused=True)
    assert any(gradient is not None and gradient.any() for gradient in others)
    for left, right in zip(mine, others, strict=True):
        assert_close(left, right)


def probabilities(model: Model, pairs: Batch) -> Array:
    """p(v) at every position [B,T,V]."""
    return softmax(array(model.head(model.features(pairs).hidden)))


# --- Minimum risk --------------------------------------------------------------------------------------------------


def log_prob(model: Model, source: list[int], output: tuple[int, ...]) -> Tensor:
    """log p of one output alone."""
    pair = Batch(Padded.from_rows([source]), Padded.from_rows([[*output, EOS]]), (0,))
    log_probs = model.head(model.features(pair).hidden).log_softmax(-1)
    return torch.stack([log_probs[0, place, token] for place, token in enumerate([*output, EOS])]).sum()


def distance(one: str, other: str) -> int:
    """Edit distance as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        distance(one[1:], other) + 1,
        distance(one, other[1:]) + 1,
        distance(one[1:], other[1:]) + (one[0] != other[0]),
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


def every_output(pieces: Sequence[int], longest: int) -> list[tuple[int, ...]]:
    """Made of these pieces, so many of them at most."""
    return [output for length in range(longest + 1) for output in product(pieces, repeat=length)]


@pytest.mark.parametrize("alpha", [0.005, 1.0])
def test_the_risk_of_given_outputs_is_as_the_paper_writes_it(model: Model, alpha: float) -> None:
    pairs = batch((3, 3), (2, 2))
    outputs = every_output([A, SEE, ZED], 2)
    objective = MinimumRiskLoss(GIVEN, cost="cer", alpha=alpha, chunk_size=7)
    ours = objective.risk(model, model.encode(pairs.source), pairs, [outputs, outputs])
    assert_equal_gradients(model, ours, expected_risk(model, pairs, outputs, alpha))


def test_with_enough_samples_the_sampled_risk_is_the_enumerated_one(model: Model) -> None:
    torch.manual_seed(1)
    pairs = batch((3, 3), (2, 2))
    objective = MinimumRiskLoss(
        GIVEN, cost="cer", samples=500, alpha=0.5, include_reference=False, max_length_factor=0.01, max_length_extra=1
    )
    outputs = every_output(range(NUM_SPECIAL_TOKENS, len(VOCABULARY)), 1)
    assert [sorted(found) for found in objective.candidates(model, pairs)] == [outputs, outputs]
    loss = objective(model, pairs, 1)
    assert_equal_gradients(model, loss.total, expected_risk(model, pairs, outputs, 0.5))
    assert loss.count.item() == 5


# --- Words ---------------------------------------------------------------------------------------------------------


def spelled() -> list[list[list[int]]]:
    """The places of the tokens of each word of WORDS, by rows: white space and END belong to the word before."""
    return [[[0, 1], [2, 3, 4]], [[0, 1, 2, 3], [4, 5, 6, 7]]]


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_the_loss_of_words_is_that_of_their_products(model: Model, q: float) -> None:
    pairs = PAIRS._replace(target=WORDS)
    p = probabilities(model, pairs)
    expected = 0.0
    for row, words in enumerate(spelled()):
        for places in words:
            word = np.prod([p[row, place, WORDS.data[row, place]] for place in places])
            expected += (1 - word**q) / q if q else -np.log(word)
    loss = WordLoss(GIVEN, q=q, cross_entropy_weight=0.0, chunk_size=3)(model, pairs, 1)
    assert loss.total.item() == pytest.approx(expected)
    assert loss.parts["words"].item() == pytest.approx(expected)


def test_with_q_1_it_is_the_chance_to_misspell(model: Model) -> None:
    """Of all that a model could write in the place of a word, token by token, what is not the word."""
    source, word = [3, 4, EOS], (A, EOS)
    written = list(product(range(len(VOCABULARY)), repeat=2))
    everything = Batch(Padded.from_rows([source] * len(written)), Padded.from_rows(written), ())
    pairs = zip(written, probabilities(model, everything), strict=True)
    wrong = sum(p[0, output[0]] * p[1, output[1]] for output, p in pairs if output != word)
    loss = WordLoss(GIVEN, q=1.0, cross_entropy_weight=0.0)(
        model, Batch(Padded.from_rows([source]), Padded.from_rows([word]), (0,)), 1
    )
    assert loss.total.item() == pytest.approx(wrong)


def test_with_q_0_it_is_cross_entropy(model: Model) -> None:
    pairs = PAIRS._replace(target=WORDS)
    words, plain = (WordLoss(GIVEN, q=0.0, cross_entropy_weight=share)(model, pairs, 1).total for share in (0.0, 1.0))
    assert_equal_gradients(model, words, plain)


# --- Coverage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["overlap", "total"])
def test_coverage_is_as_the_papers_write_it(model: Model, penalty: str) -> None:
    attention = model.features(PAIRS).attention
    assert attention is not None
    looks, expected = array(attention), 0.0
    for row, (steps, positions) in enumerate(zip(PAIRS.target.lengths(), PAIRS.source.lengths(), strict=True)):
        a = looks[row, : int(steps), : int(positions)]
        overlap = sum(np.minimum(a[t], a[:t].sum(0)).sum() for t in range(len(a)))
        expected += overlap if penalty == "overlap" else ((1 - a.sum(0)) ** 2).sum()
    loss = CoverageLoss(GIVEN, weight=3.0, penalty=penalty, label_smoothing=0.0)(model, PAIRS, 1)  # type: ignore[arg-type]
    assert loss.parts["coverage"].item() == pytest.approx(expected)
    assert loss.total.item() == pytest.approx(loss.parts["nll"].item() + 3 * expected)


# --- Distillation --------------------------------------------------------------------------------------------------


def taught_by(teacher: Model) -> DistillationLoss:
    return DistillationLoss(replace(GIVEN, load_model=lambda _: teacher), teacher="somewhere")


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("chunk_size", [1, 4, 512])
def test_distillation_is_as_the_papers_write_it(model: Model, temperature: float, chunk_size: int) -> None:
    teacher = MODELS["decoder-bahdanau"]().requires_grad_(False)
    given = replace(GIVEN, load_model=lambda _: teacher)
    objective = DistillationLoss(
        given, teacher="somewhere", weight=0.25, temperature=temperature, chunk_size=chunk_size
    )
    mask = PAIRS.target.mask
    logits = model.head(model.features(PAIRS).hidden)[mask]
    theirs = teacher.head(teacher.features(PAIRS).hidden)[mask]
    plain = -logits.log_softmax(-1).gather(1, PAIRS.target.data[mask][:, None]).sum()
    soft = -((theirs / temperature).softmax(-1) * (logits / temperature).log_softmax(-1)).sum()
    loss = objective(model, PAIRS, 1)
    assert_equal_gradients(model, loss.total, 0.75 * plain + 0.25 * temperature**2 * soft)


# --- Of all --------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    name: str
    objective: Objective


CASES = [
    Case("word-loss", WordLoss(GIVEN)),
    Case("coverage-overlap", CoverageLoss(GIVEN)),
    Case("coverage-total", CoverageLoss(GIVEN, penalty="total")),
    Case("distillation", taught_by(MODELS["decoder-bahdanau"]().requires_grad_(False))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_batch_is_the_sum_of_its_sentences(model: Model, case: Case) -> None:
    """So padding and neighbours change nothing."""
    together = case.objective(model, PAIRS, 1)
    apart = [case.objective(model, one_row(PAIRS, row), 1) for row in range(2)]
    assert_equal_gradients(model, together.total, apart[0].total + apart[1].total)
    assert together.count == apart[0].count + apart[1].count
    for name, part in together.parts.items():
        assert_close(part, apart[0].parts[name] + apart[1].parts[name])


def test_a_risk_is_the_sum_of_its_sentences(model: Model) -> None:
    objective = MinimumRiskLoss(GIVEN)
    outputs = [[(3,), (4, 5, 6, 7)], [(5, 5), (), (6,)]]
    together = objective.risk(model, model.encode(PAIRS.source), PAIRS, outputs)
    pairs = [one_row(PAIRS, row) for row in range(2)]
    apart = [
        objective.risk(model, model.encode(pair.source), pair, [found])
        for pair, found in zip(pairs, outputs, strict=True)
    ]
    assert_equal_gradients(model, together, apart[0] + apart[1])


def one_row(pairs: Batch, row: int) -> Batch:
    source, target = rows(pairs.source)[row], rows(pairs.target)[row]
    return Batch(Padded.from_rows([source]), Padded.from_rows([target]), (row,))
