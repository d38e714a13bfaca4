"""Precision selection, mixed-precision training with loss scaling, and prefetching of batches."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
import torch

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import MODELS, batch
from weft.config.recipe import Recipe, TrainingConfig
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.optim.optimizers import SGD
from weft.training.distributed import CPU_RANK, RankGroup
from weft.training.mixed_precision import (
    MixedPrecisionStrategy,
    check_precision,
    choose_precision,
    resolve_precision,
    supports_bfloat16,
    with_precision,
)
from weft.training.parallel_strategy import TrainingStrategy
from weft.training.progress import PlainDisplay
from weft.training.train_step import NonFiniteError, prefetch, train_step

CPU, GPU = torch.device("cpu"), torch.device("cuda")
PAIRS = batch((6, 3), (4, 4))
WIDE = {"source": {"dim": 64}, "target": {"dim": 64}}


def wide_recipe(**model: object) -> Recipe:
    built: Recipe = from_dict({"model": {**WIDE, **model}}, Recipe, REGISTRY)
    return built


@pytest.fixture
def features(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Capabilities that the CPU reports; empty at first."""
    capabilities: dict[str, bool] = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    return capabilities


def test_precision_is_chosen_by_device_and_model(features: dict[str, bool]) -> None:
    assert choose_precision(wide_recipe(), CPU)[0] == "float32"
    features["avx512_bf16"] = True
    assert choose_precision(wide_recipe(), CPU) == (
        "bfloat16",
        "this CPU has instructions for it; weights are kept in float32",
    )
    assert "width" in choose_precision(wide_recipe(source={"dim": 32}, target={"dim": 32}), CPU)[1]
    assert "Transformers" in choose_precision(wide_recipe(encoder={"type": "recurrent"}), CPU)[1]
    assert choose_precision(wide_recipe(), torch.device("mps"))[0] == "float32"


def test_slow_bfloat16_is_reported(features: dict[str, bool], capsys: pytest.CaptureFixture[str]) -> None:
    requested = with_precision(wide_recipe(), "bfloat16")
    assert resolve_precision(requested, CPU_RANK, PlainDisplay()) is requested
    assert "many times as slow as float32" in capsys.readouterr().err
    features["amx_bf16"] = True
    resolve_precision(requested, CPU_RANK, PlainDisplay())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("capability", "supported"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_bfloat16_support_depends_on_compute_capability(
    capability: tuple[int, int], supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert supports_bfloat16(GPU) is supported


def test_float16_needs_cuda_and_excludes_fsdp() -> None:
    half = replace(Recipe(), train=TrainingConfig(precision="float16"))
    with pytest.raises(UserError, match="float16 needs a CUDA GPU, but this run computes on cpu"):
        check_precision(half, CPU_RANK)
    check_precision(half, RankGroup(GPU))
    with pytest.raises(UserError, match=r"float16 needs loss scaling, which fsdp does not support"):
        check_precision(replace(half, train=replace(half.train, parallel="fsdp")), RankGroup(GPU, world_size=2))


class ScaledLoss:
    """Cross-entropy multiplied by a factor."""

    def __init__(self, factor: float):
        self.factor = factor

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        loss = CrossEntropyLoss(OBJECTIVE_CONTEXT)(model, batch, step)
        return Loss(loss.total * self.factor, loss.count, loss.parts)


def parameters_after_update(model: Model, objective: Objective, dtype: torch.dtype) -> list[torch.Tensor]:
    plain = TrainingStrategy(CPU_RANK, model, objective)
    strategy = (
        plain if dtype == torch.float32 else MixedPrecisionStrategy(CPU_RANK, model, objective, dtype, TrainingStrategy)
    )
    train_step(strategy, SGD(model.parameters()), [PAIRS], step=1, learning_rate=0.1, clip_norm=1.0)
    return [parameter.detach() for parameter in model.parameters()]


def test_float16_gradient_overflow_reduces_the_loss_scale() -> None:
    large = ScaledLoss(2.0**15)
    expected, found = (
        parameters_after_update(MODELS["decoder-transformer"]().float(), large, dtype)
        for dtype in (torch.float32, torch.float16)
    )
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)


def test_infinite_loss_raises() -> None:
    model = MODELS["decoder-transformer"]().float()
    with pytest.raises(NonFiniteError):
        parameters_after_update(model, ScaledLoss(float("inf")), torch.float16)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_gradient_accumulation_is_in_float32() -> None:
    model = MODELS["decoder-transformer"]().float()
    strategy = MixedPrecisionStrategy(
        CPU_RANK, model, CrossEntropyLoss(OBJECTIVE_CONTEXT), torch.bfloat16, TrainingStrategy
    )
    strategy.backward(PAIRS, 1, last=True, scale=1.0)
    once = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    for number in (1, 2, 3):
        strategy.backward(PAIRS, 1, last=number == 3, scale=1.0)
    thrice = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    torch.testing.assert_close(thrice, [gradient + gradient + gradient for gradient in once], atol=0, rtol=0)


def test_rounding_with_several_ranks_does_not_grow_with_batches() -> None:
    """Rounded once for the 16-bit mean over ranks and once with the last batch."""
    model = MODELS["decoder-transformer"]().float()
    strategy = MixedPrecisionStrategy(
        RankGroup(CPU, world_size=2), model, CrossEntropyLoss(OBJECTIVE_CONTEXT), torch.bfloat16, TrainingStrategy
    )
    strategy.backward(PAIRS, 1, last=True, scale=1.0)
    once = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    for number in range(1, 100):
        strategy.backward(PAIRS, 1, last=number == 99, scale=1.0)
    often = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    torch.testing.assert_close(often, [99 * gradient for gradient in once], atol=0, rtol=2 * 2**-8)


def test_prefetch_preserves_order() -> None:
    produced: list[int] = []

    def numbers() -> Iterator[int]:
        for number in count():
            produced.append(number)
            yield number

    prefetched = prefetch(numbers(), 2)
    assert [next(prefetched) for _ in range(5)] == [0, 1, 2, 3, 4]
    del prefetched  # waits for the thread
    assert produced == [0, 1, 2, 3, 4, 5, 6]


def test_exception_in_the_prefetch_thread_is_raised() -> None:
    prefetched = prefetch((1 // number for number in (1, 0, 1, 1)), 2)
    assert next(prefetched) == 1
    with pytest.raises(ZeroDivisionError):
        next(prefetched)


def test_transfer_to_gpu_is_pinned_and_non_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[torch.Tensor] = []
    sent: list[tuple[object, object]] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        pinned.append(tensor)
        return tensor

    def to(tensor: torch.Tensor, device: object, non_blocking: bool = False) -> torch.Tensor:
        sent.append((device, non_blocking))
        return tensor

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", to)
    PAIRS.to(GPU)
    assert len(pinned) == 4
    assert sent == [(GPU, True)] * 4
    PAIRS.to(CPU)
    assert len(pinned) == 4
