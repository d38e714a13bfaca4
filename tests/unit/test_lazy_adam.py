"""Sparse gradients equal dense ones, and LazyAdam updates only the rows that have a gradient."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import VOCABULARY, batch
from weft.losses.sampled_losses import NegativeSamplingLoss, SampledSoftmaxLoss
from weft.models.build import ModelConfig, build_model
from weft.models.decoders.sutskever import SutskeverDecoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.models.heads import LinearHead
from weft.models.model import Model
from weft.nn.bridges import LinearBridge
from weft.nn.cells.gru import GRUCell
from weft.nn.embedding import TokenEmbedding
from weft.optim.optimizers import SGD, Adadelta, Adam, AdamW, LazyAdam
from weft.training.distributed import CPU_RANK
from weft.training.parallel_strategy import TrainingStrategy
from weft.training.train_step import gradient_values, train_step

PAIRS = batch((5, 6), (3, 4))


def make_model(sparse: bool, tie: Any = "none") -> Model:
    torch.manual_seed(3)
    cell = partial(GRUCell, dim=8)
    embedding = partial(TokenEmbedding, dim=8, sparse=sparse)
    slots = ModelConfig(
        source=embedding,
        encoder=partial(RecurrentEncoder, cell=cell),
        target=embedding,
        decoder=partial(SutskeverDecoder, cell=cell, bridge=LinearBridge),
        head=partial(LinearHead, sparse=sparse),
        tie=tie,
    )
    return build_model(slots, VOCABULARY, VOCABULARY, joint=True)


def train(model: Model, optimizer: Any, steps: int = 3, clip: float | None = 0.05) -> list[float]:
    """Train and return the gradient norms."""
    torch.manual_seed(1)
    strategy = TrainingStrategy(CPU_RANK, model, SampledSoftmaxLoss(OBJECTIVE_CONTEXT, sample_size=4))
    return [
        train_step(strategy, optimizer, [PAIRS, PAIRS], step=step, learning_rate=0.01, clip_norm=clip).gradient_norm
        for step in range(1, steps + 1)
    ]


@pytest.mark.parametrize("tie", ["none", "output", "all"])
@pytest.mark.parametrize("kind", [SGD, Adadelta, Adam, AdamW])
def test_sparse_gradients_equal_dense_ones(kind: Callable[..., Any], tie: str) -> None:
    dense, sparse = make_model(False, tie), make_model(True, tie)
    norms = [train(model, kind(model.parameters())) for model in (dense, sparse)]
    assert norms[0] == pytest.approx(norms[1])
    for first, second in zip(dense.parameters(), sparse.parameters(), strict=True):
        assert_close(first, second)


def test_sparse_gradients_hold_the_used_rows() -> None:
    model = make_model(True)
    torch.manual_seed(1)
    torch.autograd.backward(SampledSoftmaxLoss(OBJECTIVE_CONTEXT, sample_size=1)(model, PAIRS, 1).total)
    weight = model.source.weight
    assert weight is not None
    rows = gradient_values(weight)
    assert rows is not None
    assert weight.grad is not None
    used = sorted(set(PAIRS.source.data.flatten().tolist()))
    assert weight.grad.indices()[0].tolist() == used
    rows *= 2  # as clipping does
    assert torch.equal(weight.grad.to_dense()[used], rows)


def test_negative_sampling_gives_sparse_head_gradients() -> None:
    gradients = []
    for model in (make_model(True), make_model(False)):
        torch.manual_seed(1)
        torch.autograd.backward(NegativeSamplingLoss(OBJECTIVE_CONTEXT, negatives=1)(model, PAIRS, 1).total)
        assert model.head.weight.grad is not None
        gradients.append(model.head.weight.grad)
    assert [gradient.is_sparse for gradient in gradients] == [True, False]
    assert_close(gradients[0].to_dense(), gradients[1])


def sparse_gradient(rows: list[int], values: Tensor, size: int) -> Tensor:
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (size, values.shape[1]), check_invariants=True)


def test_each_row_is_updated_like_its_own_adam() -> None:
    torch.manual_seed(1)
    weight = nn.Parameter(torch.randn(4, 3))
    alone = [nn.Parameter(row.clone()) for row in weight.detach()]
    lazy, adams = LazyAdam([weight]), [Adam([row]) for row in alone]
    for step, rows in enumerate([[0, 2], [2], [1, 2], [0], [2, 0]], 1):
        values = torch.randn(len(rows), 3)
        weight.grad = sparse_gradient(rows, values, 4)
        lazy.step(0.01 * step)
        for row, value in zip(rows, values, strict=True):
            alone[row].grad = value
            adams[row].step(0.01 * step)
        assert weight.grad is None
    assert_close(weight.detach(), torch.stack([row.detach() for row in alone]))


def test_gradients_of_a_repeated_row_are_summed() -> None:
    repeated, summed = (nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    repeated.grad = sparse_gradient([1, 1], torch.tensor([[1.0, -3.0, 2.0], [1.0, 1.0, -4.0]]), 2)
    summed.grad = sparse_gradient([1], torch.tensor([[2.0, -2.0, -2.0]]), 2)
    for weight in (repeated, summed):
        LazyAdam([weight]).step(0.1)
    assert torch.equal(repeated, summed)
    assert torch.equal(repeated[0].detach(), torch.ones(3))


def test_dense_gradients_are_updated_like_adam() -> None:
    weights = [nn.Parameter(torch.ones(2, 3)) for _ in range(2)]
    optimizers: list[Any] = [LazyAdam([weights[0]], beta2=0.9), Adam([weights[1]], beta2=0.9)]
    for step in range(3):
        for weight, optimizer in zip(weights, optimizers, strict=True):
            weight.grad = torch.full((2, 3), step - 0.5)
            optimizer.step(0.1)
    assert torch.equal(*weights)


def test_restored_lazy_adam_continues_exactly() -> None:
    straight, resumed = make_model(True), make_model(True)
    first = LazyAdam(straight.parameters())
    train(straight, first)
    second = LazyAdam(resumed.parameters())
    second.restore({key: moment.clone() for key, moment in first.tensors().items()})
    resumed.load_state_dict(straight.state_dict())
    for model, optimizer in ((straight, first), (resumed, second)):
        train(model, optimizer)
    for weight, resumed_weight in zip(straight.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(weight, resumed_weight)
    assert first.tensors().keys() == second.tensors().keys()
    assert any(key.startswith("rows.") for key in first.tensors())
    assert {key.split(".")[0] for key in first.tensors()} > {"rows"}
